"""Better derivative rules for functions of the registry, by the registry's names.

One table; ``docs/derivatives.md`` says for each what differs from JAX and why. Values, types,
broadcasting and signatures are those of the function replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
from jax import lax

from app.compute.derivatives import factors, lengths, places, powers, tails

OVERRIDES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "jnp.abs": lengths.absolute(jnp.abs),
        "jnp.absolute": lengths.absolute(jnp.absolute),
        "jnp.fabs": lengths.absolute(jnp.fabs),
        "lax.abs": lengths.absolute(lax.abs),
        "jnp.hypot": lengths.hypot,
        "jnp.arctan2": lengths.arctan2,
        "jnp.atan2": lengths.arctan2,
        "jnp.linalg.norm": lengths.norm,
        "jnp.linalg.vector_norm": lengths.vector_norm,
        "jnp.std": lengths.std,
        "jnp.nanstd": lengths.nanstd,
        "jnp.tanh": tails.tanh,
        "lax.tanh": tails.tanh,
        "jax.nn.tanh": tails.tanh,
        "jax.nn.sigmoid": tails.sigmoid,
        "jax.scipy.special.expit": tails.sigmoid,
        "lax.logistic": tails.logistic,
        "jax.nn.softplus": tails.softplus,
        "jax.nn.log_sigmoid": tails.log_sigmoid,
        "jax.nn.silu": tails.silu,
        "jax.nn.swish": tails.silu,
        "jnp.expm1": tails.expm1,
        "lax.expm1": tails.expm1,
        "jnp.exp2": tails.exp2,
        "lax.exp2": tails.exp2,
        "jnp.sinc": tails.sinc,
        "operator.getitem": places.getitem,
        "operator.pow": powers.pow_,
        "jnp.power": powers.power,
        "jnp.pow": powers.power,
        "jnp.float_power": powers.float_power,
        "operator.floordiv": powers.floordiv,
        "operator.mod": powers.mod,
        "jnp.floor_divide": powers.floor_divide,
        "jnp.remainder": powers.remainder,
        "jnp.mod": powers.remainder,
        "jnp.fmod": powers.fmod,
        "jnp.divmod": powers.divmod_,
        "jnp.linalg.svd": factors.svd,
        "jnp.linalg.svdvals": factors.svdvals,
        "jnp.linalg.pinv": factors.refusing_infinities(jnp.linalg.pinv),
        "jnp.linalg.lstsq": factors.refusing_infinities(jnp.linalg.lstsq),
        "jnp.linalg.cond": factors.refusing_infinities(jnp.linalg.cond),
        "jnp.linalg.matrix_rank": factors.refusing_infinities(jnp.linalg.matrix_rank),
    }
)
"""Registry name (``jnp.hypot``, ``operator.pow``) to the function used in its place."""
