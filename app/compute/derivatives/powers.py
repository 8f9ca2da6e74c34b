"""Powers and integer division: x^0 is constant, also at 0, and integers divided by 0 give 0."""

from __future__ import annotations

import operator
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.compute.derivatives.promotion import inexact


@jax.custom_jvp
def _power(x: Any, y: Any) -> Any:
    return jax.lax.pow(x, y)


@_power.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x, y), (dx, dy) = primals, tangents
    out = _power(x, y)
    return out, _slope(x, y) * dx + _log_slope(x, y, out) * dy


def _slope(x: Any, y: Any) -> Any:
    """y x^(y-1), and 0 wherever y is 0: x^0 is 1 for every x."""
    zero = y == 0
    return jnp.where(zero, 0.0, y * _power(jnp.where(zero, 1.0, x), jnp.where(zero, 1.0, y - 1)))


def _log_slope(x: Any, y: Any, out: Any) -> Any:
    """x^y log(x), taken as 0 at x = 0 (as JAX does): the limit for every y > 0."""
    zero = x == 0
    return jnp.where(zero, 0.0, jnp.log(jnp.where(zero, 1.0, x)) * out)


@wraps(jnp.power)
def power(x1: Any, x2: Any, /) -> Any:
    if _is_whole(x2) or not _both_floating(x1, x2):
        return jnp.power(x1, x2)
    dtype = jnp.result_type(x1, x2)
    x, y = jnp.broadcast_arrays(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))
    return _power(x, y)


def pow_(x: Any, y: Any) -> Any:
    """The operator ``**``: Python's own for plain numbers."""
    if not (_is_array(x) or _is_array(y)):
        return operator.pow(x, y)
    return power(x, y)


@wraps(jnp.float_power)
def float_power(x: Any, y: Any, /) -> Any:
    return power(*inexact(x, y))


def _is_whole(exponent: Any) -> bool:
    """An exponent known to be an integer: JAX's own rule is exact there."""
    return isinstance(exponent, (int, np.integer)) and not isinstance(exponent, bool)


def _both_floating(x: Any, y: Any) -> bool:
    dtype = jnp.result_type(x, y)
    whole = jnp.issubdtype(jnp.result_type(y), jnp.integer)
    return bool(jnp.issubdtype(dtype, jnp.floating)) and not whole


@wraps(jnp.floor_divide)
def floor_divide(x1: Any, x2: Any, /) -> Any:
    return _guarded(jnp.floor_divide, x1, x2)


@wraps(jnp.remainder)
def remainder(x1: Any, x2: Any, /) -> Any:
    return _guarded(jnp.remainder, x1, x2)


@wraps(jnp.fmod)
def fmod(x1: Any, x2: Any, /) -> Any:
    return _guarded(jnp.fmod, x1, x2)


@wraps(jnp.divmod)
def divmod_(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    return floor_divide(x1, x2), remainder(x1, x2)


def floordiv(x: Any, y: Any) -> Any:
    """The operator ``//``: Python's own for plain numbers."""
    return floor_divide(x, y) if _is_array(x) or _is_array(y) else operator.floordiv(x, y)


def mod(x: Any, y: Any) -> Any:
    """The operator ``%``: Python's own for plain numbers."""
    return remainder(x, y) if _is_array(x) or _is_array(y) else operator.mod(x, y)


def _guarded(divide: Any, x: Any, y: Any) -> Any:
    """NumPy's answer to integer division by zero, 0, where XLA's differs by device."""
    if not jnp.issubdtype(jnp.result_type(x, y), jnp.integer):
        return divide(x, y)
    zero = jnp.asarray(y) == 0
    return jnp.where(zero, 0, divide(x, jnp.where(zero, 1, y)))


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray, np.generic))
