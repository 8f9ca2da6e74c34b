"""Successes are real in any units: gradients and values far below 1 are no solutions by themselves.

Right values are by hand, at the head of each case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compute.solvers.solving import Program, solve

METHODS = ("auto", "bfgs", "l_bfgs", "nonlinear_cg")
PARABOLA = "lambda x, a, b: a * (x / b - 3) ** 2"
ENDLESS = "failed: the value falls without limit"


@pytest.mark.parametrize("method", METHODS)
def test_a_parabola_and_a_slope_in_any_units(method: str) -> None:
    source = (
        "lambda x, a, b, e: a * ((1 - e) * (x[0] / b - 3) ** 2 + e * (x[0] / b + exp(-x[1] / b)))"
    )
    made = Program("minimize", source, [[1.0, 1.0], 1.0, 1.0, 0.0], method=method)
    for start, height, width in [
        (1e12, 1e4, 1e12),
        (1e17, 1e17, 1e17),
        (1e-12, 1.0, 1e-12),
        (0.0, 1e-12, 1.0),
        (3.0 + 1e-9, 1.0, 1.0),
    ]:
        found = made([[start, start], height, width, 0.0])
        assert found["success"], (start, found["outcome"])
        assert found["solution"][0] == pytest.approx(3.0 * width, rel=1e-6)
        slope = 2 * height / width * (found["solution"][0] / width - 3)
        assert found["gradient_norm"] == pytest.approx(abs(slope))
    # It falls without limit along the first unknown, and in the second towards 0.
    for height, width in [(1.0, 1.0), (1e-12, 1.0), (1e4, 1e12)]:
        found = made([[width, width], height, width, 1.0])
        assert (found["outcome"], found["success"]) == (ENDLESS, False)
        assert found["gradient_norm"] == pytest.approx(height / width)


def test_a_parabola_in_single_precision() -> None:
    made = Program("minimize", PARABOLA, [1.0, 1.0, 1.0], dtype="float32", method="l_bfgs")
    found = made([1000.0, 0.01, 1000.0])
    assert found["success"], found["outcome"]
    assert found["solution"] == pytest.approx(3000.0, rel=1e-4)


def test_inside_far_bounds_and_on_a_constraint() -> None:
    far = solve("minimize", "lambda x: -x", [1.0], bounds=[0, 1e300], method="bfgs")
    assert far["success"] == (far["solution"] == 1e300)
    assert far["gradient_norm"] == (0.0 if far["success"] else 1.0)
    source = "def h(x):\n    return x[1] - 1\n\ndef f(x):\n    return x[0]\n"
    found = solve("minimize", source, [[1.0, 1.0]], entry="f", method="bfgs",
                  constraints={"equality": "h"})  # fmt: skip
    assert (found["outcome"], found["success"]) == (ENDLESS, False)


@pytest.mark.parametrize("kind", ["equality", "inequality"])
def test_a_small_constraint_is_not_met_by_that(kind: str) -> None:
    source = "def h(x, a):\n    return a * (x - 5)\n\ndef f(x, a):\n    return (x - 1) ** 2\n"
    made = Program("minimize", source, [1.0, 1.0], constraints={kind: "h"}, tol=1e-6)
    for height in (1e-2, 1e3):
        found = made([1.0, height])
        assert found["success"], found["outcome"]
        assert found["solution"] == pytest.approx(5.0, rel=1e-5)
    found = made([1.0, 1e-12])
    assert found["outcome"] == "failed: the constraints could not be satisfied"


def test_bounds_close_together_are_no_minimum() -> None:
    # Between 0 and 1e-11 everything is near a bound; the minimum is inside, or at an end.
    made = Program("minimize", PARABOLA, [1e-12, 1.0, 1e-12], bounds=[0.0, 1e-11], method="bfgs")
    for width, right in [(1e-12, 3e-12), (1e-11, 1e-11)]:
        found = made([1e-12, 1.0, width])
        assert found["success"], found["outcome"]
        assert found["solution"] == pytest.approx(right, rel=1e-6)


def test_stalling_beside_a_steep_gradient_is_no_success() -> None:
    found = solve("minimize", "lambda x: log(x)", [1.0])
    assert not found["success"], found["outcome"]
    assert found["gradient_norm"] == pytest.approx(1 / found["solution"])


def test_an_optimiser_does_not_rest_on_a_slope() -> None:
    found = solve("minimize", "lambda x: 1e-12 * x", [1.0], method="adam", max_steps=50)
    assert found["outcome"] == "stopped: the limit of steps was reached"


def test_a_simplex_in_any_units() -> None:
    source = """
def f(x, a, b, w):
    u = x / b
    return a * (w * (100 * (u[1] - u[0] ** 2) ** 2 + (1 - u[0]) ** 2)
                + (1 - w) * ((u[0] - 1) ** 2 + (u[1] - 2) ** 2))
"""
    made = Program("minimize", source, [[0.0, 0.0], 1.0, 1.0, 0.0], method="nelder_mead")
    unseen = made([[1.0, 1.0], 1.0, 1e18, 0.0])  # 5 +- 1e-18
    assert unseen["outcome"].startswith("stopped: the function has the same value")
    assert not unseen["success"]
    for start, height, width, valley in [
        ((0.0, 0.0), 1e-20, 1.0, 0.0),
        ((0.0, 0.0), 1e-30, 1e-3, 0.0),
        ((1e6, 1e6), 1e-20, 1e6, 0.0),
        ((-1.2, 1.0), 1e-20, 1.0, 1.0),
        ((-1.2e-9, 1e-9), 1e12, 1e-9, 1.0),
    ]:
        found = made([list(start), height, width, valley])
        assert found["success"], (start, height, found["outcome"])
        right = [width, (2 - valley) * width]
        assert found["solution"] == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("method", [*METHODS, "nelder_mead"])
def test_low_is_what_is_low_beside_the_start(method: str) -> None:
    # The least value is -3e9, where single precision ends at 3e38; and there is none.
    source = "lambda x, a, s: a * (s * (x - 1) ** 2 - 3)"
    made = Program("minimize", source, [3.0, 1.0, 1.0], dtype="float32", method=method)
    found = made([3.0, 1e9, 1.0])
    assert found["success"], found["outcome"]
    assert found["solution"] == pytest.approx(1.0, abs=1e-3)
    assert made([3.0, 1e9, -1.0])["outcome"] == ENDLESS


ROOTLESS_OR_NOT = "lambda x, a, b, c, d: a * (x**2 + b) + c * x + d * where(x < 0.3, -1, 1)"


@pytest.mark.parametrize("method", ["newton", "chord"])
def test_a_small_value_is_no_root(method: str) -> None:
    made = Program("root", ROOTLESS_OR_NOT, [0.0] * 5, method=method)
    for start, *weights in [
        (0.0, 1e-12, 1.0, 0.0, 0.0),  # 1e-12 (x^2 + 1)
        (5.0, 1e-12, 1.0, 0.0, 0.0),
        (1.0, 1.0, 1e-12, 0.0, 0.0),  # x^2 + 1e-12
        (1.0, 1.0, 1e-9, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 1e-30),  # a jump
    ]:
        found = made([start, *weights])
        assert not found["success"], (start, weights, found)
        assert abs(found["residual"]) > 0


def test_roots_in_any_units_and_double_ones() -> None:
    made = Program("root", ROOTLESS_OR_NOT, [0.0] * 5)
    for start, *weights, root, error in [
        (1.0, 1e-12, -2.0, 0.0, 0.0, np.sqrt(2), 1e-9),
        (1e-9, 1.0, -4e-18, 0.0, 0.0, 2e-9, 1e-18),
        (1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1e-7),
        (4.0, 1.0, 9.0, -6.0, 0.0, 3.0, 1e-6),
    ]:
        found = made([start, *weights])
        assert found["success"], (start, weights, found)
        assert found["solution"] == pytest.approx(root, abs=error)


def test_a_singular_system() -> None:
    source = "lambda x, a: stack([a + (x[0] - 1) ** 2 * (1 - sign(a)), (x[1] - 1) ** 3])"
    made = Program("root", source, [[3.0, 2.0], 0.0])
    # A constant beside a triple root; then a double and a triple root.
    assert not made([[3.0, 2.0], 1e-10])["success"]
    found = made([[3.0, 2.0], 0.0])
    assert found["success"], found["outcome"]
    assert found["solution"] == pytest.approx([1.0, 1.0], abs=1e-6)


def test_least_squares_tells_of_bounds_and_freedom() -> None:
    # (x - 3)^2 + (x + y)^2 + (2 y - 40)^2 with x in [0, 1]: x = 0, y = 16.
    source = "lambda x: stack([x[0] - 3, x[0] + x[1], 2 * x[1] - 40])"
    found = solve("least_squares", source, [[0.5, 0.5]], bounds=[[0, 1], [None, None]])
    assert found["solution"] == pytest.approx([0.0, 16.0])
    assert found["gradient_norm"] == pytest.approx(0.0, abs=1e-9)
    assert found["statistics"]["at_bounds"] == 1
    # x is known, so y alone is estimated: 329 / 2 over its column's square, 1 + 4.
    assert found["statistics"]["degrees_of_freedom"] == 2
    assert found["covariance"] == pytest.approx(np.array([[0.0, 0.0], [0.0, 32.9]]))
    assert found["standard_errors"] == pytest.approx([0.0, np.sqrt(32.9)])
    square: dict[str, Any] = solve("least_squares", "lambda x: x**2 - 4", [[1.0, 3.0]])
    assert square["solution"] == pytest.approx([2.0, 2.0])
    assert square["statistics"]["degrees_of_freedom"] == 0
    assert not {"covariance", "standard_errors", "residual_standard_deviation"} & set(square)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_squares_neither_overflow_nor_vanish(dtype: str) -> None:
    # By hand: (x - 1)^2 + x^2 is least at 1/2, of one degree of freedom its variance is 1/2; over
    # the columns' square 2. Then x^3 + x = 2 has the root 1, x^2 + 1 has none.
    source = "lambda x, a: a * concatenate([x - 1, x])"
    fitted = Program("least_squares", source, [[3.0], 1.0], dtype=dtype)
    root = Program("root", "lambda x, a, b, c: a * (b * x**3 + (1 - b) * x**2 + b * x + c)",
                   [3.0, 1.0, 1.0, 1.0], dtype=dtype)  # fmt: skip
    for height in (1e-30, 1e-19, 1e15, *((1e-170, 1e150) if dtype == "float64" else ())):
        found = fitted([[3.0], height])
        assert found["success"], (height, found["outcome"])
        assert found["solution"] == pytest.approx([0.5], rel=1e-5)
        assert found["standard_errors"] == pytest.approx([0.5], rel=1e-5)
        assert root([3.0, height, 1.0, -2.0])["solution"] == pytest.approx(1.0, rel=1e-5)
        assert root([3.0, height, 1.0, -2.0])["success"]
        assert not root([3.0, height, 0.0, 1.0])["success"]


def test_a_start_far_from_the_solution_is_left() -> None:
    # Residuals at 1 and at 0 do not show that x is there at all beside 3e20.
    source = "lambda x, w: concatenate([x / w - 3, x / w - 3, 2 * x / w])"
    made = Program("least_squares", source, [[1.0], 1.0])
    for start in (1.0, 0.0):
        found = made([[start], 1e20])
        assert found["success"], found["outcome"]
        assert found["solution"] == pytest.approx([1e20])


def test_a_short_step_is_no_fixed_point() -> None:
    options = {"method": "plain", "max_steps": 500}
    made = Program("fixed_point", "lambda x, a, b: a * x + b", [0.0, 1.0, 1e-12], **options)
    assert not made([0.0, 1.0, 1e-12])["success"]
    found = made([0.0, 0.5, 1e-12])
    assert found["success"], found["outcome"]
    assert found["solution"] == pytest.approx(2e-12, rel=1e-9)


def test_columns_of_a_regression_in_any_units() -> None:
    X = np.array([[1.0, 1.0], [2.0, -1.0], [4.0, 0.5], [3.0, 7.0]])
    y = np.array([1.0, 0.5, 2.0, -1.0])
    right = np.linalg.lstsq(np.column_stack([np.ones(4), X]), y)[0][1:]
    made = Program("fit", "lambda X, y: 0.0", [X, y], model="linear")
    for unit in (1.0, 1e-200, 1e200):
        found = made([X * [unit, 1.0], y])
        assert found["success"], found["outcome"]
        assert found["slopes"] * [unit, 1.0] == pytest.approx(right)
