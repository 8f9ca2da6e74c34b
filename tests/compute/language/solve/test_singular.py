"""Derivatives of solutions: NaN where the Jacobian is singular up to round-off, and only there."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.compute.language import parse

SINGULAR = {
    "a kink": ("lambda a: solve.minimize(lambda x: jnp.abs(x - a), 0.5)", 1.3),
    "two roots that meet": ("lambda a: solve.root(lambda x: (x - a) * (x - 2 * a + 1), 0.0)", 1.0),
    "a fold": ("lambda a: solve.root(lambda x: (x - 1) ** 2 - a, 0.0)", 0.0),
    "flat at 0": ("lambda a: solve.root(lambda x: cos(x) - a, 1.0)", 1.0),
    "in one of two directions": (
        "lambda a: solve.root(lambda x: jnp.stack([x[0] - 3 * a, 1e8 * (x[1] - x[0]) ** 2]),"
        " jnp.array([0.0, 1.0]))[1]",
        1.1,
    ),
}


def test_a_singular_jacobian_leaves_no_derivative() -> None:
    @jax.jit
    def every(points: dict[str, Any]) -> Any:
        made = {name: parse(source).bind() for name, (source, _) in SINGULAR.items()}
        return {name: jax.value_and_grad(made[name])(a) for name, a in points.items()}

    found = every({name: jnp.asarray(a) for name, (_, a) in SINGULAR.items()})
    for name, (value, slope) in found.items():
        assert np.isfinite(value), name
        assert np.isnan(slope), name


SCALED = """
def f(a, s, r):
    def equations(x):
        y = x * s
        return r * jnp.stack([y[0] ** 2 - a[0], y[1] * y[0] - a[1], jnp.exp(y[2]) - a[1] * y[1]])
    return solve.root(equations, jnp.array([1.0, 1.5, 0.5]) / s)

def least(a, s, r):
    def cost(x):
        y = x * s
        return (y[0] - a[0]) ** 4 + 1e-4 * (y[0] - a[0]) ** 2 + jnp.sum((y[1:] - a[0] * a[1]) ** 2)
    bounds = jnp.stack([jnp.array([-10.0, -10.0, 4.0]) / s, jnp.array([10.0, 10.0, 20.0]) / s], 1)
    return solve.minimize(cost, jnp.array([1.0, 1.5, 5.0]) / s, bounds=bounds, method="newton")

def both(a, s, r):
    return f(a, s, r), least(a, jnp.ones(3), r)
"""


def test_bad_scales_leave_derivatives_as_they_are() -> None:
    """y0 = sqrt(a0), y1 = a1 / y0, y2 = log(a1 y1), whatever the units of x and of the values."""
    slopes = jax.jit(jax.jacrev(parse(SCALED, "both").bind()))
    a, b = 2.0, 1.7
    want = np.array([[0.5 / a**0.5, 0.0], [-b / 2 / a**1.5, a**-0.5], [-0.5 / a, 2 / b]])
    best = np.array([[1.0, 0.0], [b, a], [0.0, 0.0]])
    ones = np.ones(3)
    for s, r in (
        (ones, ones),
        (np.array([1e8, 1e-8, 1.0]), ones),
        (ones, np.array([1e8, 1.0, 1e-8])),
        (np.array([1e-8, 1.0, 1e8]), np.array([1e8, 1e-8, 1.0])),
    ):
        got, least = slopes(jnp.array([a, b]), s, r)
        np.testing.assert_allclose(s[:, None] * got, want, rtol=1e-8, atol=1e-12)
        # the third unknown rests on its bound, the cost is nearly flat in the first
        np.testing.assert_allclose(least, best, rtol=1e-6, atol=1e-9)


def test_what_nothing_asks_for_is_not_spoiled() -> None:
    source = "lambda a: jnp.where(a > 0, a**2, solve.root(lambda x: (x - a) ** 2, 0.0))"
    f = jax.jit(jax.value_and_grad(parse(source).bind()))
    assert [float(each) for each in f(1.5)] == [2.25, 3.0]
