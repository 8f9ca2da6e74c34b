"""``solve.ode`` inside functions: values, every way to differentiate, failures as NaN."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from app.compute.language import parse
from app.core.errors import ProblemError


def run(source: str, *args: Any) -> Any:
    return jax.jit(parse(source).bind())(*args)


GROWTH = """
def f(k, y0, c):
    def right(t, y, k):
        return {"a": -k * y["a"] + c, "b": y["a"]}
    ys = solve.ode(right, {"a": y0, "b": 0.0}, [0.0, 0.5, 2.0], k, derivative="FORM")
    return ys["a"][-1] + ys["b"][-1]

def main(k, y0, c):
    return DERIVATIVE(f, (0, 1, 2))(k, y0, c)
"""


def slopes(k: float, y0: float, c: float, t: float = 2.0) -> np.ndarray:
    """Complex-step derivatives of the closed form of a(t) + b(t)."""

    def value(k: complex, y0: complex, c: complex) -> complex:
        e = np.exp(-k * t)
        return y0 * e + c / k * (1 - e) + (y0 - c / k) * (1 - e) / k + c / k * t

    h, at = 1e-30, [k, y0, c]
    moved = [[x + 1j * h * (i == j) for j, x in enumerate(at)] for i in range(3)]
    return np.array([np.imag(value(*point)) / h for point in moved])


@pytest.mark.parametrize(
    ("form", "derivative"),
    [("reverse", "jax.grad"), ("backsolve", "jax.grad"), ("forward", "jax.jacfwd")],
)
def test_derivatives_in_parameters_starts_and_closures(form: str, derivative: str) -> None:
    source = GROWTH.replace("FORM", form).replace("DERIVATIVE", derivative)
    found = run(source, 0.7, 1.3, 0.4)
    assert np.array(found) == pytest.approx(slopes(0.7, 1.3, 0.4), rel=1e-6)


def test_second_derivatives_of_a_stiff_one() -> None:
    source = """
def f(k):
    def last(k):
        right = lambda t, y: -k * (y - jnp.cos(t))
        return solve.ode(right, 0.0, [0.0, 1.0], method="kvaerno5", derivative="forward")[-1]
    return last(k), jax.jacfwd(jax.jacfwd(last))(k)
"""
    value, second = run(source, 50.0)

    def exact(k: float) -> float:
        steady = k * (k * math.cos(1) + math.sin(1)) / (1 + k * k)
        return steady - k * k / (1 + k * k) * math.exp(-k)

    h = 0.05
    assert value == pytest.approx(exact(50.0), rel=1e-6)
    wanted = (exact(50 + h) - 2 * exact(50.0) + exact(50 - h)) / h**2
    assert second == pytest.approx(wanted, rel=1e-3)


def test_it_fits_a_rate_under_vmap_and_backwards_in_time() -> None:
    source = """
def f(rates, ts):
    last = lambda k: solve.ode(lambda t, y: -k * y, 1.0, ts)[-1]
    return jax.vmap(last)(rates)
"""
    rates = np.array([0.1, 1.0, 3.0])
    assert run(source, rates, np.array([0.0, 2.0])) == pytest.approx(np.exp(-2 * rates), rel=1e-6)
    assert run(source, rates, np.array([2.0, 0.0])) == pytest.approx(np.exp(2 * rates), rel=1e-6)


def test_what_fails_is_not_a_number() -> None:
    source = """
def f(ts):
    s = solve.ode(lambda t, y: y * y, 1.0, ts, max_steps=300, full=True)
    return s.ys, s.success, s.outcome
"""
    for ts, reason in (([0.0, 2.0], None), ([0.0, 0.5, 0.2], 31), ([0.0, np.nan], 31)):
        ys, success, outcome = run(source, np.array(ts))
        assert np.all(np.isnan(ys))
        assert not success
        assert reason in (None, outcome)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("solve.ode(lambda t, y: y, 1.0, [0.0])", "two times"),
        ("solve.ode(lambda t, y: y, 1.0, [0.0, 1.0], method='euler')", "method 'euler'"),
        ("solve.ode(lambda t, y: jnp.stack([y, y]), 1.0, [0.0, 1.0])", "other shapes"),
        ("solve.ode(lambda t, y: y, 1, [0.0, 1.0])", "real floating"),
    ],
)
def test_refusals_say_where(call: str, words: str) -> None:
    with pytest.raises(ProblemError, match=words) as refused:
        run(f"def f(x):\n    return x + {call}", 1.0)
    assert refused.value.to_problem().get("line") == 2
