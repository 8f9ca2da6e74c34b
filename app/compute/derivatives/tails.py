"""Functions whose derivative JAX writes as a difference that cancels, or a product that overflows.

Each is rewritten as a product of quantities that stay accurate in both tails, at every order.
"""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.derivatives.promotion import inexact


@jax.custom_jvp
def _logistic(x: Any) -> Any:
    return jax.lax.logistic(x)


@_logistic.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    # s(x) s(-x): 1 - s(x) is exactly 0 for x > 37.
    return _logistic(x), _logistic(x) * _logistic(-x) * dx


@wraps(jax.nn.sigmoid)
def sigmoid(x: Any) -> Any:
    return _logistic(_inexact(x))


@wraps(jax.lax.logistic)
def logistic(x: Any, accuracy: Any = None) -> Any:
    return _logistic(_inexact(x)) if accuracy is None else jax.lax.logistic(x, accuracy=accuracy)


@jax.custom_jvp
def _tanh(x: Any) -> Any:
    return jnp.tanh(x)


@_tanh.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    # sech^2 = 4 s(2x) s(-2x): 1 - tanh^2 is exactly 0 for |x| > 19.
    return _tanh(x), 4 * _logistic(2 * x) * _logistic(-2 * x) * dx


@wraps(jnp.tanh)
def tanh(x: Any, /) -> Any:
    x = _inexact(x)
    return jnp.tanh(x) if jnp.iscomplexobj(x) else _tanh(x)


@jax.custom_jvp
def _softplus(x: Any) -> Any:
    return jnp.logaddexp(x, jnp.zeros((), x.dtype))


@_softplus.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    return _softplus(x), _logistic(x) * dx


@wraps(jax.nn.softplus)
def softplus(x: Any) -> Any:
    x = _inexact(x)
    return jax.nn.softplus(x) if jnp.iscomplexobj(x) else _softplus(x)


@wraps(jax.nn.log_sigmoid)
def log_sigmoid(x: Any) -> Any:
    return -softplus(-_inexact(x))


@wraps(jax.nn.silu)
def silu(x: Any) -> Any:
    x = _inexact(x)
    return x * sigmoid(x)


@jax.custom_jvp
def _expm1(x: Any) -> Any:
    return jnp.expm1(x)


@_expm1.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    # exp(x), not expm1(x) + 1, which is exactly 0 for x < -37.
    return _expm1(x), jnp.exp(x) * dx


@wraps(jnp.expm1)
def expm1(x: Any, /) -> Any:
    return _expm1(_inexact(x))


@jax.custom_jvp
def _exp2(x: Any) -> Any:
    return jnp.exp2(x)


@_exp2.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    return _exp2(x), _exp2_slope(x) * dx


def _exp2_slope(x: Any) -> Any:
    """log(2) 2^x, finite where 2^x alone has just overflowed."""
    large = jnp.real(x) > 0
    shifted = _exp2(jnp.where(large, x - 1, x))
    return shifted * jnp.where(large, 2 * math.log(2), math.log(2))


@wraps(jnp.exp2)
def exp2(x: Any, /) -> Any:
    return _exp2(_inexact(x))


SINC_TERMS = 13
"""Taylor terms of sin(u)/u for |u| < 1: the last is below 1e-27."""


@wraps(jnp.sinc)
def sinc(x: Any, /) -> Any:
    u = math.pi * _inexact(x)
    small = jnp.abs(u) < 1
    inner = jnp.where(small, u, 0.0)
    square, series = inner * inner, jnp.zeros_like(u)
    for term in reversed(range(SINC_TERMS)):
        series = series * square + (-1) ** term / math.factorial(2 * term + 1)
    outer = jnp.where(small, 1.0, u)
    return jnp.where(small, series, jnp.sin(outer) / outer)


def _inexact(x: Any) -> Any:
    return inexact(x)[0]
