"""The default methods on published test problems, against their published minima."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compute.solvers import problems_hs, problems_mgh
from tests.compute.solvers.solving import program, solve


@pytest.mark.parametrize(
    "problem", problems_mgh.PROBLEMS, ids=lambda p: f"{p.number}-{p.name.split(',')[0]}"
)
def test_more_garbow_hillstrom(problem: problems_mgh.Problem) -> None:
    found = solve("minimize", problem.objective, [problem.start])
    assert found["success"], found["outcome"]
    assert any(
        np.isclose(found["value"], minimum, rtol=1e-5, atol=1e-8 * (minimum == 0))
        for minimum in problem.minima
    ), found["value"]


@pytest.mark.parametrize("number", [7, 8, 10, 11, 12, 15, 17])
def test_least_squares(number: int) -> None:
    problem = next(each for each in problems_mgh.PROBLEMS if each.number == number)
    found = solve("least_squares", problem.source, [problem.start])
    assert found["success"], found["outcome"]
    minimum = problem.minima[0]
    assert np.isclose(found["value"], minimum, rtol=1e-6, atol=1e-16 * (minimum == 0))


@pytest.mark.parametrize("problem", problems_hs.PROBLEMS, ids=lambda p: f"hs{p.number}")
def test_hock_schittkowski(problem: problems_hs.Problem) -> None:
    start = [float(x) for x in problem.start]
    found = solve("minimize", problem.source, [start], entry="f", **problem.options)
    assert found["success"], found["outcome"]
    assert found.get("violation", 0.0) <= 1e-7
    assert any(
        np.isclose(found["value"], minimum, rtol=1e-6, atol=1e-6) for minimum in problem.minima
    ), found["value"]


def test_chunks_end_where_the_whole_does() -> None:
    source, args = problems_mgh.PROBLEMS[0].objective, [problems_mgh.PROBLEMS[0].start]
    whole = solve("minimize", source, args, method="newton")
    _, (*state, done, _, _, _, _) = _ordered(program("minimize", source, args, method="newton",
                                                  phase="init"))  # fmt: skip
    while not done:
        groups = {"state": state, "steps": np.asarray(5, np.int32)}
        _, (*state, done, _, _, _, _) = _ordered(
            program("minimize", source, args, method="newton", phase="advance", groups=groups)
        )
    ended = solve(
        "minimize", source, args, method="newton", phase="finish", groups={"state": state}
    )
    assert np.array_equal(ended["solution"], whole["solution"])
    assert ended["statistics"] == whole["statistics"]


def _ordered(answer: tuple[dict, list]) -> tuple[dict, list]:
    """State leaves in order, then done, iteration, value, gradient norm and point."""
    meta, leaves = answer
    out, progress = meta["out"], meta["out"]["progress"]
    places = [*out["state"], progress["done"]]
    places += [progress[name] for name in ("iteration", "value", "gradient_norm", "x")]
    return meta, [leaves[place] for place in places]
