"""Dense output of ``ode``: the pieces are the solution between steps too, by closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.compute.solvers.solving import Program, solve
from tests.compute.solvers.test_ode import times

SPIRAL = """
def top(t, y, k):
    return y[0]

def f(t, y, k):
    return jnp.stack([-0.1 * y[0] + k * y[1], -k * y[0] - 0.1 * y[1]])
"""


def spiral(t: Any, k: float) -> np.ndarray:
    """From (0, 1): exp(-t/10) (sin kt, cos kt)."""
    t = np.asarray(t)
    return np.exp(-0.1 * t)[..., None] * np.stack([np.sin(k * t), np.cos(k * t)], -1)


def count_of(found: dict[str, Any]) -> int:
    return int(found["statistics"]["steps"] - found["statistics"]["rejected"])


def evaluated(dense: dict[str, np.ndarray], count: int, at: np.ndarray) -> np.ndarray:
    """What the documentation says a client does."""
    t, c = dense["t"], dense["coefficients"]
    sign = 1.0 if t[count] >= t[0] else -1.0
    k = np.clip(np.searchsorted(sign * t[1:count], sign * at, side="right"), 0, count - 1)
    s = (at - t[k]) / (t[k + 1] - t[k])
    return np.sum([c[k, j] * s[:, None] ** j for j in range(c.shape[1])], axis=0)


START = np.array([0.0, 1.0])


def test_pieces_are_the_solution_between_steps() -> None:
    groups = times(t0=0.0, t1=5.0)
    for options, error in [
        ({"method": "tsit5", "tol": 1e-9}, 1e-7),
        ({"tol": 1e-11}, 1e-8),
        ({"method": "kvaerno5", "tol": 1e-9}, 1e-4),
    ]:
        program = Program("ode", SPIRAL, [START, 2.0], groups=groups, dense=True, **options)
        for t0, t1 in [(0.0, 5.0), (3.0, -1.0)]:
            start = spiral(t0, 2.0)
            found = program([start, 2.0], times(t0=t0, t1=t1))
            count = count_of(found)
            at = np.linspace(t0, t1, 501)
            assert np.max(np.abs(evaluated(found["dense"], count, at) - spiral(at, 2.0))) < error
            t, c = found["dense"]["t"], found["dense"]["coefficients"]
            assert (t[0], t[-1]) == (t0, t1)
            assert (len(t), len(c)) == (count + 1, count)
            # The ends of steps are met.
            assert c[:-1].sum(1) == pytest.approx(c[1:, 0], abs=1e-12)
            assert c[-1].sum(0) == pytest.approx(found["y"], abs=1e-12)


def test_the_order_between_symplectic_steps_is_four() -> None:
    source = "lambda t, y: [y[1], -y[0]]"
    errors = []
    for parts in (50, 100):
        found = solve("ode", source, [(np.zeros(1), np.ones(1))], groups=times(t1=5.0),
                      method="yoshida6", dt0=5.0 / parts, dense=parts)  # fmt: skip
        assert found["success"]
        assert count_of(found) == parts
        at = np.linspace(0, 5, 997)
        dense = {"t": found["dense"]["t"], "coefficients": found["dense"]["coefficients"][0]}
        errors.append(np.max(np.abs(evaluated(dense, parts, at)[:, 0] - np.sin(at))))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.2)


def test_batches_end_each_at_their_own_event() -> None:
    rates = np.array([0.5, 4.0])
    found = solve("ode", SPIRAL, [START, rates], groups=times(t1=20.0), event="top", dense=80,
                  vmap={"in_axes": [None, 0]}, tol=1e-10)  # fmt: skip
    assert found["success"] == [True, True]
    assert found["t"] == pytest.approx(np.pi / rates, rel=1e-8)
    steps, rejected = (np.array(found["statistics"][name]) for name in ("steps", "rejected"))
    for place, count in enumerate(steps - rejected):
        dense = {name: leaf[place] for name, leaf in found["dense"].items()}
        assert dense["t"][count] == found["t"][place]
        at = np.linspace(0, found["t"][place], 101)
        right = spiral(at, rates[place])
        assert np.max(np.abs(evaluated(dense, count, at) - right)) < 1e-7


def test_no_more_steps_than_there_is_room_for() -> None:
    found = solve("ode", SPIRAL, [START, 2.0], groups=times(t1=5.0), dense=4)
    assert not found["success"]
    assert found["outcome"].startswith("stopped: dense output has no room")
    assert found["dense"]["t"][4] == found["t"] < 5.0
    at = np.linspace(0, found["t"], 50)
    assert np.max(np.abs(evaluated(found["dense"], 4, at) - spiral(at, 2.0))) < 1e-5
