"""Lengths and angles: abs, hypot, norms, standard deviation, arctan2.

Their derivatives are ratios that neither overflow nor underflow where the ratio itself does not.
At zero a length has the subgradient 0; its second derivative there does not exist and is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.derivatives.promotion import inexact


@jax.custom_jvp
def _absolute(x: Any) -> Any:
    return jnp.abs(x)


@_absolute.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    return _absolute(x), jnp.sign(x) * dx


def absolute(native: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``native``, an absolute value, with the slope 0 at zero; JAX takes the one from the right."""

    @wraps(native)
    def function(x: Any, /) -> Any:
        dtype = getattr(x, "dtype", None)
        real = dtype is not None and jnp.issubdtype(dtype, jnp.floating)
        return _absolute(x) if real else native(x)

    return function


@jax.custom_jvp
def _hypot(x: Any, y: Any) -> Any:
    return jnp.hypot(x, y)


@_hypot.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x, y), (dx, dy) = primals, tangents
    return _hypot(x, y), _ratio(x, y) * dx + _ratio(y, x) * dy


@jax.custom_jvp
def _ratio(x: Any, y: Any) -> Any:
    """x / hypot(x, y), and 0 at the origin."""
    length = jnp.hypot(x, y)
    return jnp.where(length == 0, 0.0, x / jnp.where(length == 0, 1.0, length))


@_ratio.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x, y), (dx, dy) = primals, tangents
    cos, sin, length = _ratio(x, y), _ratio(y, x), _hypot(x, y)
    return cos, sin * (sin * dx - cos * dy) / length


@wraps(jnp.hypot)
def hypot(x1: Any, x2: Any, /) -> Any:
    x1, x2 = jnp.broadcast_arrays(*inexact(x1, x2))
    return _hypot(x1, x2)


@jax.custom_jvp
def _arctan2(y: Any, x: Any) -> Any:
    return jnp.arctan2(y, x)


@_arctan2.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (y, x), (dy, dx) = primals, tangents
    # (x dy - y dx) / (x^2 + y^2), with the squares kept near 1. Multiplied, not divided: XLA
    # rewrites a / b / c to a / (b c), whose product underflows.
    inverse = jax.lax.stop_gradient(_inverse_scale(jnp.maximum(jnp.abs(x), jnp.abs(y))))
    u, v = x * inverse, y * inverse
    square = u * u + v * v
    return _arctan2(y, x), ((u / square) * dy - (v / square) * dx) * inverse


def _inverse_scale(size: Any) -> Any:
    """A power of two near 1 / size: multiplying by it rounds nothing."""
    limit = jnp.finfo(size.dtype).maxexp - 2
    exponent = jnp.frexp(jnp.where(size == 0, 1.0, size))[1]
    return jnp.ldexp(jnp.ones_like(size), jnp.clip(-exponent, -limit, limit))


@wraps(jnp.arctan2)
def arctan2(x1: Any, x2: Any, /) -> Any:
    x1, x2 = jnp.broadcast_arrays(*inexact(x1, x2))
    return _arctan2(x1, x2)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _euclidean(x: Any, axis: Any) -> Any:
    return jnp.sqrt(jnp.sum(jnp.real(x * jnp.conj(x)), axis=axis, keepdims=True))


@_euclidean.defjvp
def _(axis: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    along = jnp.real(jnp.conj(_unit(x, axis)) * dx)
    return _euclidean(x, axis), jnp.sum(along, axis=axis, keepdims=True)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _unit(x: Any, axis: Any) -> Any:
    """x over its length, and 0 for zero."""
    length = _euclidean(x, axis)
    return jnp.where(length == 0, 0.0, x / jnp.where(length == 0, 1.0, length))


@_unit.defjvp
def _(axis: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    unit = _unit(x, axis)
    along = jnp.sum(jnp.real(jnp.conj(unit) * dx), axis=axis, keepdims=True)
    return unit, (dx - unit * along) / _euclidean(x, axis)


@wraps(jnp.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    x = jnp.asarray(x)
    if not _is_euclidean(x, ord, axis):
        return jnp.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)
    (x,) = inexact(x)
    axes = _axes(axis, x.ndim)
    length = _euclidean(x, axes)
    return length if keepdims else jnp.squeeze(length, axes)


@wraps(jnp.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002
    if ord != 2:
        return jnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    (x,) = inexact(x)
    axes = _axes(axis, x.ndim)
    length = _euclidean(x, axes)
    return length if keepdims else jnp.squeeze(length, axes)


def _is_euclidean(x: Any, order: Any, axis: Any) -> bool:
    """Whether the norm is the root of a sum of squares: vectors, or Frobenius of matrices."""
    count = x.ndim if axis is None else len(axis) if isinstance(axis, (tuple, list)) else 1
    if order is None:
        return axis is None or count in (1, 2)
    if isinstance(order, str):
        return order == "fro" and count == 2
    return count == 1 and isinstance(order, (int, float)) and order == 2


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(int(each) % ndim if -ndim <= int(each) < ndim else int(each) for each in axes)


@jax.custom_jvp
def _root(x: Any) -> Any:
    """The square root whose derivative at 0 is the subgradient 0 of a length."""
    return jnp.sqrt(x)


@_root.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    return _root(x), _half_reciprocal(x) * dx


@jax.custom_jvp
def _half_reciprocal(x: Any) -> Any:
    return jnp.where(x == 0, 0.0, 0.5 / jnp.sqrt(jnp.where(x == 0, 1.0, x)))


@_half_reciprocal.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    return _half_reciprocal(x), -0.25 * dx / (x * jnp.sqrt(x))


@wraps(jnp.std)
def std(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _root(jnp.var(a, *args, **kwargs))


@wraps(jnp.nanstd)
def nanstd(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _root(jnp.nanvar(a, *args, **kwargs))
