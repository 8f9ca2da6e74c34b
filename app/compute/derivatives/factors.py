"""Singular values at any scale, and matrices with infinities answered with NaN.

LAPACK's singular value routines never return from a matrix that holds an infinity, and squares
of singular values in JAX's rule underflow below 1e-154.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp


def _cleaned(a: Any) -> tuple[Any, Any]:
    """The matrices with those that are not finite replaced by zero, and which were finite."""
    finite = jnp.all(jnp.isfinite(a), axis=(-2, -1), keepdims=True)
    return jnp.where(finite, a, 0), finite


def _scale(a: Any) -> Any:
    """The power of two next to the largest entry: dividing by it rounds nothing."""
    largest = jnp.max(jnp.abs(a), axis=(-2, -1), keepdims=True, initial=0)
    exponent = jnp.frexp(jnp.where(largest == 0, 1, largest))[1]
    half = exponent // 2
    one = jnp.ones_like(largest)
    return jax.lax.stop_gradient(jnp.ldexp(jnp.ldexp(one, half), exponent - half))


@wraps(jnp.linalg.svd)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: Any = None,
) -> Any:
    a = jnp.asarray(a)
    if a.ndim < 2 or not jnp.issubdtype(a.dtype, jnp.inexact):
        return jnp.linalg.svd(a, full_matrices, compute_uv, hermitian, subset_by_index)
    clean, finite = _cleaned(a)
    scale = _scale(clean)
    out = jnp.linalg.svd(clean / scale, full_matrices, compute_uv, hermitian, subset_by_index)
    if not compute_uv:
        return _marked(out * scale[..., 0], finite[..., 0])
    u, s, vh = out
    parts = (_marked(u, finite), _marked(s * scale[..., 0], finite[..., 0]), _marked(vh, finite))
    return type(out)(*parts) if hasattr(out, "_fields") else parts


@wraps(jnp.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)


def refusing_infinities(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of a matrix, giving NaN in place of never returning."""

    @wraps(function)
    def guarded(a: Any, *args: Any, **kwargs: Any) -> Any:
        a = jnp.asarray(a)
        if a.ndim < 2 or not jnp.issubdtype(a.dtype, jnp.inexact):
            return function(a, *args, **kwargs)
        finite = jnp.all(jnp.isfinite(a))
        out = function(jnp.where(finite, a, jnp.zeros_like(a)), *args, **kwargs)
        return jax.tree.map(lambda leaf: _marked(leaf, finite), out)

    return guarded


def _marked(value: Any, finite: Any) -> Any:
    if not jnp.issubdtype(value.dtype, jnp.inexact):
        return value
    return jnp.where(finite, value, jnp.nan)
