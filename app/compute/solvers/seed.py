"""The ``seed`` of a call: a value, so that another one does not make another program."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls.call import Call
from app.core.errors import InvalidArgument


def seed(call: Call) -> Any:
    """The key of all random numbers of a call; that of seed 0 where none is given."""
    given = call.directions.get("seed", jnp.zeros((), jnp.int32))
    whole = hasattr(given, "shape") and not given.shape and jnp.issubdtype(given.dtype, jnp.integer)
    if not whole:
        raise InvalidArgument(
            "seed is a whole number", pointer="/seed", hint="from 0 to 2147483647"
        )
    return jax.random.key(given.astype(jnp.uint32))
