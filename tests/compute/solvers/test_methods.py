"""Methods of minimize beside the default ones, and many starts, against known minima."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compute.solvers import problems_hs
from tests.compute.solvers.solving import Program, solve


def test_nelder_mead_at_a_kink_and_at_bounds() -> None:
    kink = "lambda x: abs(x[0] - 2) + abs(x[1]) + (x[2] - x[0]) ** 2"
    options = {"method": "nelder_mead", "bounds": [[None, None], [0.5, 3.0], [-1.0, 1.5]]}
    found = solve("minimize", kink, [[1.0, 1.0, 1.0]], **options)
    assert found["success"], found["outcome"]
    # By hand: x1 on its bound; x2 on its; x0 in between where the slopes cancel: 2 (x0 - 1.5) = 1.
    assert found["solution"] == pytest.approx([2.0, 0.5, 1.5], abs=1e-6)
    assert found["value"] == pytest.approx(0.75, abs=1e-6)
    assert "gradient_norm" not in found


def test_a_gradient_method_with_a_schedule_inside_bounds() -> None:
    source = "lambda x, c: sum((x - c) ** 2 * array([1.0, 4.0]))"
    settings = {"learning_rate": 0.05, "schedule": "cosine"}
    options = {"method": "adam", "options": settings, "bounds": [0.0, 1.5], "max_steps": 2000}
    found = solve("minimize", source, [[0.2, 0.2], [1.0, 2.0]], **options)
    assert found["success"], found["outcome"]
    assert found["solution"] == pytest.approx([1.0, 1.5], abs=1e-8)


@pytest.mark.parametrize("hessian", [None, "sparse"])
def test_many_unknowns_by_products_of_the_hessian(hessian: str | None) -> None:
    weights = "jnp.logspace(0.0, 6.0, 150)"
    source = f"lambda x: 0.5 * sum({weights} * (x - 1) ** 2) + sum((x[1:] - x[:-1]) ** 4)"
    found = solve("minimize", source, [[0.0] * 150], hessian=hessian)
    assert found["success"], found["outcome"]
    assert found["solution"] == pytest.approx(np.ones(150), abs=1e-7)
    assert found["statistics"]["iterations"] < 60


def test_functions_with_a_reverse_rule_of_their_own() -> None:
    source = """
@jax.custom_vjp
def g(x):
    return sum((x - 1) ** 4 + x**2)

g.defvjp(lambda x: (g(x), x), lambda x, c: (c * (4 * (x - 1) ** 3 + 2 * x),))

def least(x):
    return g(x)

def equations(x):
    return stack([g(x) - 3, x[0] - 1])

def moved(k):
    return solve.minimize(lambda x: g(x) + k * sum(x), zeros(2))
"""
    # By hand: 4 (x - 1)^3 + 2 x + k = 0, so dx/dk = -1 / (12 (x - 1)^2 + 2); then
    # 1 + (y - 1)^4 + y^2 = 3.
    (right,) = (r.real for r in np.roots([4, -12, 14, -4]) if abs(r.imag) < 1e-9)
    found = solve("minimize", source, [[3.0, 2.0]], entry="least")
    assert found["success"]
    assert found["solution"] == pytest.approx([right, right])
    (slopes,) = Program("jacobian", source, [0.0], entry="moved").leaves([0.0])
    assert slopes == pytest.approx([-1 / (12 * (right - 1) ** 2 + 2)] * 2)
    zero = solve("root", source, [[3.0, 2.0]], entry="equations")
    y = max(r.real for r in np.roots([1, -4, 7, -4, -1]) if abs(r.imag) < 1e-9)
    assert zero["success"]
    assert zero["solution"] == pytest.approx([1.0, y])


def test_many_starts_reach_the_lowest_minimum() -> None:
    problem = next(each for each in problems_hs.PROBLEMS if each.number == 20)
    start = [[float(x) for x in problem.start]]
    given = {"entry": "f", "multi_start": {"count": 8}, **problem.options}
    program = Program("minimize", problem.source, start,
                      groups={"seed": np.asarray(0, np.int32)}, **given)  # fmt: skip
    for seed in (0, 1):
        found = program(start, {"seed": np.asarray(seed, np.int32)})
        values = found["starts"]["value"]
        assert found["value"] == pytest.approx(problem.minimum, rel=1e-6)
        assert found["value"] == np.min(values[found["starts"]["success"]])
        assert np.array_equal(found["starts"]["start"][0], problem.start)
        # That of the one start alone is the local minimum beside it.
        assert values[0] == pytest.approx(problems_hs.LOCAL[20][0], rel=1e-6)


def test_given_starts_and_one_that_fails() -> None:
    source = "lambda x: stack([sqrt(x[0]) - 1, x[1] - 3])"
    rows = np.array([[-1.0, 0.0], [2.0, 1.0]])
    found = solve("least_squares", source, [[-4.0, 1.0]], groups={"starts": rows})
    assert found["success"]
    assert found["solution"] == pytest.approx([1.0, 3.0])
    assert found["starts"]["success"].tolist() == [False, False, True]
