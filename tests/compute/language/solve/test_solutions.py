"""Solvers inside functions: solutions and their derivatives against closed forms and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from app.core.errors import ProblemError
from tests.compute.solvers.solving import program

A = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
B = np.array([1.0, 2.0, 3.0])


def ask(verb: str, source: str, *args: Any, **options: Any) -> list[np.ndarray]:
    return program(verb, source, [np.asarray(each).tolist() for each in args], **options)[1]


def test_root_of_a_cubic_in_its_coefficient() -> None:
    source = "def f(c):\n    return solve.root(lambda x: x**3 - c*x - 1, 2.0)\n"
    (second,) = ask("hessian", source, [1.0, 1.5], vmap={"in_axes": 0})
    for c, got in zip((1.0, 1.5), second, strict=True):
        x = max(np.roots([1, 0, -c, -1]).real)
        slope = x / (3 * x**2 - c)
        # d/dc of x / (3 x^2 - c), with dx = slope dc
        want = (slope * (3 * x**2 - c) - x * (6 * x * slope - 1)) / (3 * x**2 - c) ** 2
        assert got == pytest.approx(want, rel=1e-9)


def test_argmin_of_a_quadratic_in_its_matrix() -> None:
    source = """
def f(A, b):
    S = 0.5 * (A + A.T)
    return solve.minimize(lambda x: 0.5 * x @ S @ x - b @ x, jnp.zeros(3), method="newton")
"""
    by_matrix, by_vector = ask("jacobian", source, A, B, wrt=[0, 1])
    inverse, x = np.linalg.inv(A), np.linalg.solve(A, B)
    want = -np.einsum("ik,l->ikl", inverse, x)
    np.testing.assert_allclose(by_matrix, (want + want.swapaxes(1, 2)) / 2, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(by_vector, inverse, rtol=1e-8, atol=1e-10)


def test_validation_loss_of_ridge_in_its_penalty() -> None:
    source = """
def f(penalty, X, y, V, w):
    def loss(c):
        return jnp.sum((X @ c["w"] - y) ** 2) + penalty * jnp.sum(c["w"] ** 2)
    best = solve.minimize(loss, {"w": jnp.zeros(3)}, method="newton", full=True)
    return jnp.mean((V @ best.solution["w"] - w) ** 2) + jnp.where(best.success, 0.0, 1e9)
"""
    rng = np.random.default_rng(0)
    X, V, y, w = (rng.normal(size=shape) for shape in ((8, 3), (5, 3), 8, 5))
    value, slope = ask("value_and_grad", source, 0.7, X, y, V, w)
    gram = X.T @ X + 0.7 * np.eye(3)
    c = np.linalg.solve(gram, X.T @ y)
    assert value == pytest.approx(np.mean((V @ c - w) ** 2), rel=1e-9)
    along = -np.linalg.solve(gram, c)
    assert slope == pytest.approx(2 / 5 * (V @ c - w) @ (V @ along), rel=1e-7)


def test_bounds_that_hold_move_with_their_own_parameters() -> None:
    source = """
def f(c, loose):
    bounds = jnp.stack([loose, c ** 2])
    goal = jnp.stack([c, 3 * c, 0.0 * c])
    return solve.minimize(lambda x: jnp.sum((x - goal) ** 2), jnp.ones(3), bounds=bounds,
                          method="newton")
"""
    mapped = {"vmap": {"in_axes": [None, 0]}}
    by_goal, by_bound = ask("jacobian", source, 1.5, [0.25, 0.0], wrt=[0, 1], **mapped)
    assert by_goal[0] == pytest.approx([1.0, 3.0, 0.0])
    assert by_bound[0] == pytest.approx([0.0, 0.0, 1.0])
    # The third unknown's gradient vanishes on its bound then: one side moves, the other does not.
    assert np.all(np.isnan(by_goal[1]))


def test_an_optimiser_inside_a_function() -> None:
    source = """
def f(k):
    rate = {"learning_rate": 0.1, "schedule": "piecewise", "boundaries": [[100, 0.1]]}
    found = solve.minimize(
        lambda x: sum((x - jnp.stack([k**2, 9.0])) ** 2), jnp.zeros(2), method="adam",
        options=rate, bounds=[0, 4], max_steps=3000, full=True)
    return jnp.where(found.success, found.solution, jnp.nan)
"""
    (slopes,) = ask("jacobian", source, 1.5)
    assert slopes == pytest.approx([3.0, 0.0])  # k^2, and its upper bound


def test_fit_and_fixed_point_against_finite_differences() -> None:
    source = """
def f(y, k):
    t = jnp.arange(4.0)
    p = solve.least_squares(lambda p: y - p["a"] * jnp.exp(-p["b"] * t), {"a": 1.0, "b": 0.1})
    return p["b"] * solve.fixed_point(lambda x, k: k * cos(x), 1.0, k)
"""
    y = np.array([2.0, 1.1, 0.7, 0.3])

    def by_scipy(y: np.ndarray, k: float) -> float:
        t = np.arange(4.0)
        p = optimize.least_squares(
            lambda p: y - p[0] * np.exp(-p[1] * t), [1.0, 0.1], xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        return p.x[1] * optimize.brentq(lambda x: k * np.cos(x) - x, 0, 2, xtol=1e-15)

    value, slopes, slope = ask("value_and_grad", source, y, 0.9, wrt=[0, 1])
    assert value == pytest.approx(by_scipy(y, 0.9), rel=1e-7)
    h = 1e-4
    near = [(by_scipy(y + h * e, 0.9) - by_scipy(y - h * e, 0.9)) / (2 * h) for e in np.eye(4)]
    assert slopes == pytest.approx(near, rel=1e-5)
    assert slope == pytest.approx((by_scipy(y, 0.9 + h) - by_scipy(y, 0.9 - h)) / (2 * h), rel=1e-5)


def test_failure_is_not_a_number_and_says_so() -> None:
    source = """
def f(c):
    found = solve.root(lambda x: x ** 2 + c, 2.0, full=True)
    low = solve.minimize(lambda x: -jnp.sum(x), jnp.zeros(2), full=True, method="newton")
    double = solve.root(lambda x: (x - c) ** 2, 2.0)
    kept = jnp.where(found.success, found.solution, c ** 2)
    return found.solution, found.success, low.solution, low.success, double, kept
"""
    root, met, low, fell, _, kept = ask("evaluate", source, 1.5)
    assert np.isnan(root)
    assert np.all(np.isnan(low))
    assert not met
    assert not fell
    assert kept == 2.25
    alone = "def f(c):\n    return solve.root(lambda x: (x - c) ** 2, c)\n"
    value, slope = ask("value_and_grad", alone, 1.5)
    assert value == 1.5
    assert np.isnan(slope)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("solve.root(lambda x: jnp.stack([x, c]), 2.0)", "as many numbers"),
        ("solve.minimize(lambda x: x * c, jnp.zeros(2))", "returns one number"),
        ("solve.minimize(lambda x: sum(x), jnp.zeros(2), method='lbfgs')", "unknown"),
        ("solve.minimize(lambda x: sum(x), jnp.zeros(2), options={'clip': 1})", "no options"),
        ("solve.minimize(lambda x: sum(x), 1.0, constraints={'equality': 'h'})", "constraints"),
        ("solve.minimize(lambda x: sum(x), jnp.zeros(2), bounds=[1.0, 2.0, 3.0])", "unknowns"),
        ("solve.minimize(lambda x: sum(x), jnp.zeros(0))", "empty"),
        ("solve.root(lambda x: x, 1j)", "complex"),
        ("solve.root(lambda x: x - c, 1.0, tol=c)", "traced"),
        ("solve.root(lambda x: x - c, 1.0, bracket=[0.0, 2.0])", "root takes no bracket"),
    ],
)
def test_refusals_say_where(call: str, why: str) -> None:
    with pytest.raises(ProblemError, match=why) as refused:
        ask("evaluate", f"def f(c):\n    return {call}\n", 1.5)
    assert refused.value.line == 2
