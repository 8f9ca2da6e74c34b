"""``ode`` in process: stiff and chaotic problems, symplectic steps, batches, gradients, times.

Right values: the Test Set for IVP Solvers (Bari), Taylor series of order
30 in 30 digits by mpmath, and closed forms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from app.core.errors import InvalidArgument
from tests.compute.solvers.solving import Program, solve

ROBERTSON = """
def f(t, y):
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return jnp.stack([-a + b, a - b - c, c])
"""
VAN_DER_POL = "def f(t, y):\n    return jnp.stack([y[1], 1e3 * (1 - y[0] ** 2) * y[1] - y[0]])"
LORENZ = """
def f(t, y):
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])
"""
KEPLER = """
def f(t, y):
    r = jnp.sqrt(y[0] ** 2 + y[1] ** 2)
    return jnp.stack([y[2], y[3], -y[0] / r**3, -y[1] / r**3])
"""


def times(**given: Any) -> dict[str, Any]:
    """Inputs of a call beside its arguments."""
    types = {"seed": np.int32}
    return {name: np.asarray(value, types.get(name, float)) for name, value in given.items()}


def energy(y: np.ndarray) -> np.ndarray:
    return 0.5 * np.sum(y[..., 2:] ** 2, -1) - 1 / np.hypot(y[..., 0], y[..., 1])


@pytest.mark.parametrize(
    ("source", "start", "end", "tolerances", "wanted", "digits"),
    [
        (
            ROBERTSON,
            [1.0, 0.0, 0.0],
            1e11,
            {"rtol": 1e-9, "atol": [1e-16, 1e-20, 1e-12]},
            [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050],
            1e-6,
        ),
        (
            VAN_DER_POL,
            [2.0, 0.0],
            2000.0,
            {"tol": 1e-10},
            [0.1706167732170483e1, -0.8928097010247975e-3],
            1e-6,
        ),
        (
            LORENZ,
            [1.0, 1.0, 1.0],
            15.0,
            {"rtol": 1e-13, "atol": 1e-13},
            [-4.39310921838335262, -2.06912719314446949, 25.9145299690783979],
            1e-9,
        ),
    ],
    ids=["robertson", "van der pol 1000", "lorenz"],
)
def test_published_problems(
    source: str, start: list[float], end: float, tolerances: Any, wanted: list[float], digits: float
) -> None:
    found = solve("ode", source, [start], groups=times(t1=end), **tolerances)
    assert found["success"]
    assert found["y"] == pytest.approx(np.array(wanted), rel=digits)


def test_kepler_comes_back_after_ten_periods() -> None:
    start = np.array([0.1, 0.0, 0.0, math.sqrt(19.0)])  # e = 0.9, semi-major axis 1
    ts = 2 * math.pi * np.arange(11)
    found = solve("ode", KEPLER, [start], groups=times(t1=ts[-1], ts=ts), tol=1e-12)
    assert np.max(np.abs(found["ys"] - start)) < 1e-6
    assert np.max(np.abs(energy(found["ys"]) + 0.5)) < 1e-9


@pytest.mark.parametrize(("method", "order"), [("leapfrog", 2), ("yoshida6", 6)])
def test_symplectic_steps(method: str, order: int) -> None:
    start = np.array([0.8, 0.0, 0.0, math.sqrt(1.2 / 0.8)])  # e = 0.2
    ts = np.linspace(0, 2 * math.pi * 100, 1000)
    errors = []
    for parts in (60, 120):
        given = {"method": method, "dt0": 2 * math.pi / parts}
        program = Program("ode", KEPLER, [start], groups=times(t1=ts[-1], ts=ts), **given)
        once = program([start], times(t1=2 * math.pi, ts=np.zeros(1000)))
        errors.append(np.linalg.norm(once["y"] - start))
        drift = np.abs(energy(program([start], times(t1=ts[-1], ts=ts))["ys"]) + 0.5)
        assert drift[-200:].max() < 1.5 * drift[:200].max()
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


def test_what_is_not_separable_is_refused() -> None:
    for source, start, at in (
        ("lambda t, y: [y[1] - 0.1 * y[0], -y[0]]", (np.ones(2), np.ones(2)), "/method"),
        ("lambda t, y: -y", np.ones(3), "/args/0"),
    ):
        with pytest.raises(InvalidArgument) as refused:
            solve("ode", source, [start], groups=times(t1=1), method="leapfrog")
        assert refused.value.pointer == at


def test_times_are_values_of_one_program() -> None:
    groups = times(t0=0, t1=1, ts=[0, 1])
    program = Program("ode", "lambda t, y: y", [1.0], groups=groups, method="dopri8")
    ahead = program([1.0], times(t0=0, t1=2, ts=[2, 0.5]))
    assert ahead["ys"] == pytest.approx(np.exp([2, 0.5]), rel=1e-7)
    back = program([2.0], times(t0=3, t1=1, ts=[1.5, 3]))
    assert back["ys"] == pytest.approx(2 * np.exp([-1.5, 0]), rel=1e-7)
    assert back["y"] == pytest.approx(2 * math.exp(-2), rel=1e-7)
    assert program([2.0], times(t0=1, t1=1, ts=[1, 1]))["ys"] == pytest.approx(np.array([2, 2]))
    for ts, t1 in (([0, 2.1], 2), ([np.nan, 1], 2), ([0, 1], np.inf), ([0, 1], np.nan)):
        refused = program([1.0], times(t0=0, t1=t1, ts=ts))
        assert not refused["success"]
        assert "ts lies between t0 and t1" in refused["outcome"]


def test_many_starts_and_parameters() -> None:
    starts, rates = np.array([1.0, 2.0, 3.0]), np.array([0.1, 1.0, 300.0])
    vmap = {"in_axes": [0, 0]}
    given = {"groups": times(t1=2), "vmap": vmap, "method": "tsit5"}
    found = solve("ode", "lambda t, y, k: -k * y", [starts, rates], **given)
    assert found["success"] == [True] * 3
    assert found["y"] == pytest.approx(starts * np.exp(-2 * rates), rel=1e-6, abs=1e-9)


RELAXING = """
def loss(y):
    return y[0]

def f(t, y, k):
    return -k * (y - jnp.cos(t))
"""


def relaxed(y0: float, k: float, t: float) -> np.ndarray:
    """d/dy0 and d/dk of the solution, by central differences of the closed form."""

    def exact(y0: float, k: float) -> float:
        steady = k * (k * math.cos(t) + math.sin(t)) / (1 + k * k)
        return steady + (y0 - k * k / (1 + k * k)) * math.exp(-k * t)

    h = 1e-5
    return np.array(
        [
            (exact(y0 + h, k) - exact(y0 - h, k)) / (2 * h),
            (exact(y0, k * (1 + h)) - exact(y0, k * (1 - h))) / (2 * h * k),
        ]
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"adjoint": "backsolve", "method": "tsit5"},
        {"adjoint": "backsolve", "method": "kvaerno5"},
    ],
    ids=["checkpoint", "backsolve", "implicit backsolve"],
)
def test_gradients_of_a_loss(given: dict[str, Any]) -> None:
    args = [np.array([2.0]), 1.5]
    groups = times(t1=1.0)
    program = Program("ode", RELAXING, args, groups=groups, loss="loss", wrt=[0, 1], **given)
    assert program.storable
    rates = [1.5] if given else [1.5, 1e5]  # auto finds the second one stiff
    for k in rates:
        found = program([np.array([2.0]), k], groups)
        wanted = relaxed(2.0, k, 1.0)
        got = [found["grad"][0][0], found["grad"][1]]
        assert found["success"]
        assert got == pytest.approx(wanted, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "kvaerno3"])
@pytest.mark.parametrize(
    ("dtype", "error", "steps"), [("float32", 1e-5, 300), ("float64", 1e-7, 5000)]
)
def test_stiff_problems_in_both_precisions(
    method: str, dtype: str, error: float, steps: int
) -> None:
    source = "lambda t, y, k: -k * (y - jnp.cos(t))"
    ends = {name: np.asarray(value, dtype) for name, value in {"t0": 0.0, "t1": 10.0}.items()}
    solver = Program("ode", source, [2.0, 1e3], dtype=dtype, method=method, groups=ends)
    for k in (1e3, 1e6):
        found = solver([2.0, k], ends)
        # The transient exp(-k t) has long gone at t = 10.
        wanted = (k**2 * np.cos(10.0) + k * np.sin(10.0)) / (k**2 + 1)
        assert found["success"]
        assert abs(found["y"] - wanted) < error
        assert found["statistics"]["steps"] < steps


def test_an_implicit_backsolve_takes_a_tolerance_for_each_entry() -> None:
    source = "def l(y):\n    return y[0] + 2 * y[1]\n\n"
    source += "def f(t, y, k):\n    return -k * y * array([1, 2])"
    found = solve("ode", source, [np.array([1.0, 2.0]), 1.5], groups=times(t1=1.0), loss="l",
                  wrt=[0, 1], adjoint="backsolve", method="kvaerno5", rtol=1e-9,
                  atol=[1e-10, 1e-12])  # fmt: skip
    start, rate = found["grad"]
    assert start == pytest.approx(np.exp([-1.5, -3.0]) * [1, 2], rel=1e-6)
    assert rate == pytest.approx(-math.exp(-1.5) - 8 * math.exp(-3.0), rel=1e-6)
