"""``ode`` with noise: moments and paths of equations whose solutions are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.core.errors import InvalidArgument
from tests.compute.solvers.solving import Program, solve
from tests.compute.solvers.test_ode import times

ORNSTEIN = """
def noise(t, y, k, s):
    return s * jnp.ones_like(y)

def f(t, y, k, s):
    return -k * y
"""
GEOMETRIC = """
def loss(y):
    return y

def noise(t, y, a, s):
    return s * y

def f(t, y, a, s):
    return a * y
"""
A, S = 0.5, 0.8


def test_ornstein_uhlenbeck_has_its_mean_and_variance() -> None:
    k, s, start, count, h = 1.5, 0.7, 2.0, 1500, 1 / 32
    given = {"noise": "noise", "paths": count, "dt0": h}
    groups = times(t1=1.0, ts=[0.5, 1.0], seed=1)
    program = Program("ode", ORNSTEIN, [start, k, s], groups=groups, **given)
    found = program([start, k, s], groups)
    for place, t in enumerate((0.5, 1.0)):
        mean, variance = start * math.exp(-k * t), s * s * (1 - math.exp(-2 * k * t)) / (2 * k)
        seen = found["ys"][:, place]
        assert seen.mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / count) + 0.02)
        assert seen.var() == pytest.approx(variance, rel=4 * math.sqrt(2 / count) + 0.03)
    assert np.array_equal(program([start, k, s], groups)["y"], found["y"])
    other = program([start, k, s], times(t1=1.0, ts=[0.5, 1.0], seed=2))["y"]
    assert abs(np.corrcoef(other, found["y"])[0, 1]) < 0.1


BESIDE_ITS_MOTION = """
def noise(t, y):
    return jnp.stack([0.8 * y[0], 1.0])[:, None]

def f(t, y):
    return jnp.stack([0.5 * y[0], 0.0])
"""


def strong_error(method: str, drift: float, parts: int) -> float:
    """The mean distance from the closed form along the same motions, over 200 paths."""
    given = {"noise": "noise", "paths": 200, "groups": times(t1=1.0, seed=5)}
    start = np.array([1.0, 0.0])
    found = solve("ode", BESIDE_ITS_MOTION, [start], **given, method=method, dt0=1 / parts)
    x, w = found["y"].T
    assert w.var() == pytest.approx(1.0, abs=4 * math.sqrt(2 / 200))
    return float(np.mean(np.abs(x - np.exp(drift + S * w))))


def test_strong_convergence_to_geometric_brownian_motion() -> None:
    ito = A - 0.5 * S * S
    coarse, fine = (strong_error("milstein", ito, parts) for parts in (8, 128))
    assert math.log(coarse / fine, 16) == pytest.approx(1.0, abs=0.15)
    rough = strong_error("euler_maruyama", ito, 128)
    assert fine * 4 < rough < 0.1


def test_heun_is_of_the_other_integral() -> None:
    start, groups = np.array([1.0, 0.0]), times(t1=1.0, seed=0)
    given = {"noise": "noise", "method": "heun", "dt0": 1 / 128}
    program = Program("ode", BESIDE_ITS_MOTION, [start], groups=groups, **given)
    for seed in range(20):
        x, w = program([start], times(t1=1.0, seed=seed))["y"]
        assert x == pytest.approx(math.exp(A + S * w), rel=0.05)


def test_a_gradient_along_a_path() -> None:
    groups = times(t1=1.0, seed=3)
    given = {"noise": "noise", "method": "milstein", "dt0": 1 / 512}
    program = Program(
        "ode", GEOMETRIC, [1.0, A, S], groups=groups, loss="loss", wrt=[0, 1, 2], **given
    )
    found = program([1.0, A, S], groups)
    h = 1e-6
    for place in range(3):
        above, below = [1.0, A, S], [1.0, A, S]
        above[place] += h
        below[place] -= h
        slope = (program(above, groups)["value"] - program(below, groups)["value"]) / (2 * h)
        assert found["grad"][place] == pytest.approx(slope, rel=1e-6)
    # y = y0 exp((a - s^2/2) t + s W), so that dy/dy0 = y/y0 and dy/da = y t whatever the path
    assert found["grad"][0] == pytest.approx(found["value"], rel=1e-12)
    assert found["grad"][1] == pytest.approx(found["value"], rel=1e-2)


def test_noise_of_another_shape_is_pointed_at() -> None:
    source = """
def half(t, y):
    return y[0]

def f(t, y):
    return [y[1], y[0]]
"""
    start = (np.zeros(1), np.zeros(1))
    with pytest.raises(InvalidArgument) as refused:
        solve("ode", source, [start], groups=times(t1=1.0), noise="half")
    assert refused.value.pointer == "/noise"
