"""Elementwise functions of one matrix that map 0 to 0, applied to the stored entries alone.

At a stored zero the derivative is what dense code has at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from app.sparse.matrix import SparseMatrix

NUMPY = (
    "sin tan sinh tanh arcsin asin arctan atan arcsinh asinh arctanh atanh expm1 log1p sqrt cbrt "
    "abs absolute fabs sign floor ceil rint trunc fix negative positive square real imag conj "
    "conjugate deg2rad radians rad2deg degrees isnan isinf isposinf isneginf angle signbit "
    "nan_to_num round around spacing i0e"
).split()
ACTIVATIONS = (
    "relu relu6 leaky_relu elu selu celu gelu silu swish mish soft_sign hard_tanh hard_swish "
    "hard_silu"
).split()
SPECIAL = "erf erfinv".split()
RENAMED = {"neg": jnp.negative, "pos": jnp.positive, "integer_pow": jax.lax.integer_pow}


def elementwise(function: Callable[..., jax.Array], A: SparseMatrix, *rest: Any, **named: Any):
    """``function`` of every stored entry."""
    return A.map(lambda values: function(values, *rest, **named))


def astype(A: SparseMatrix, dtype: Any, **named: Any) -> SparseMatrix:
    """The values in another type."""
    return A.map(lambda values: values.astype(dtype))


def _found() -> dict[str, Callable[..., SparseMatrix]]:
    sources = [(jnp, name) for name in NUMPY if hasattr(jnp, name)]
    sources += [(jax.nn, name) for name in ACTIVATIONS if hasattr(jax.nn, name)]
    sources += [(jax.scipy.special, name) for name in SPECIAL]
    table = {name: partial(elementwise, getattr(module, name)) for module, name in sources}
    renamed = {name: partial(elementwise, function) for name, function in RENAMED.items()}
    return {**table, **renamed, "astype": astype, "convert_element_type": astype}


TABLE = {
    **_found(),
    "attribute.real": partial(elementwise, jnp.real),
    "attribute.imag": partial(elementwise, jnp.imag),
}
