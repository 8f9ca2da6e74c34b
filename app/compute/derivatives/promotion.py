"""The floating types that ``jax.numpy`` computes integers in."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def inexact_type(*values: Any) -> Any:
    """The promoted type if it is inexact; else float64 for 64-bit integers, float32 for others."""
    dtype = jnp.result_type(*values)
    if jnp.issubdtype(dtype, jnp.inexact):
        return dtype
    return jnp.dtype(jnp.float64 if dtype.itemsize == 8 else jnp.float32)


def inexact(*values: Any) -> list[Any]:
    """The values as arrays of their common inexact type."""
    dtype = inexact_type(*values)
    return [jnp.asarray(value, dtype) for value in values]
