"""Problems 1 to 40 of Hock and Schittkowski, Lecture Notes in Economics 187 (1981).

Written from the published formulas: f the objective, h = 0 the equalities, g >= 0 the
inequalities. Problem 13 is left out: no multipliers exist at its solution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One problem: source of f, and of g and h where there are any, start, bounds, minimum."""

    number: int
    source: str
    start: list[float]
    minimum: float
    options: dict[str, Any]

    @property
    def minima(self) -> tuple[float, ...]:
        """The published minimum, and the local one that is nearer to the start."""
        return (self.minimum, *LOCAL.get(self.number, ()))


LOCAL = {2: (4.941229318,), 20: (81.5 - 25 * math.sqrt(3) + 2.0,)}
"""Local minima on the near side of the start; x1 = -1.2210 and x1 = -1/2."""


def _problem(
    number: int,
    f: str,
    start: list[float],
    minimum: float,
    *,
    g: str = "",
    h: str = "",
    bounds: list[list[float | None]] | None = None,
) -> Problem:
    source, constraints = "", {}
    for name, kind, body in (("g", "inequality", g), ("h", "equality", h)):
        if body:
            source += f"def {name}(x):\n    return stack([{body}])\n\n"
            constraints[kind] = name
    options: dict[str, Any] = {"constraints": constraints} if constraints else {}
    if bounds is not None:
        options["bounds"] = bounds
    return Problem(number, f"{source}def f(x):\n    return {f}\n", start, minimum, options)


ROSENBROCK = "100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2"
ANY: list[float | None] = [None, None]
U = "(25.0 + (-50.0 * log(0.01 * arange(1.0, 100.0))) ** (2.0 / 3.0))"

PROBLEMS = (
    _problem(1, ROSENBROCK, [-2, 1], 0.0, bounds=[ANY, [-1.5, None]]),
    _problem(2, ROSENBROCK, [-2, 1], 0.0504261879, bounds=[ANY, [1.5, None]]),
    _problem(3, "x[1] + 1e-5 * (x[1] - x[0]) ** 2", [10, 1], 0.0, bounds=[ANY, [0, None]]),
    _problem(4, "(x[0] + 1.0) ** 3 / 3.0 + x[1]", [1.125, 0.125], 8 / 3,
             bounds=[[1, None], [0, None]]),
    _problem(5, "sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1.0",
             [0, 0], -1.9132229549810362, bounds=[[-1.5, 4], [-3, 3]]),
    _problem(6, "(1.0 - x[0]) ** 2", [-1.2, 1], 0.0, h="10.0 * (x[1] - x[0] ** 2)"),
    _problem(7, "log(1.0 + x[0] ** 2) - x[1]", [2, 2], -math.sqrt(3),
             h="(1.0 + x[0] ** 2) ** 2 + x[1] ** 2 - 4.0"),
    _problem(8, "-1.0 + 0.0 * x[0]", [2, 1], -1.0,
             h="x[0] ** 2 + x[1] ** 2 - 25.0, x[0] * x[1] - 9.0"),
    _problem(9, "sin(pi * x[0] / 12.0) * cos(pi * x[1] / 16.0)", [0, 0], -0.5,
             h="4.0 * x[0] - 3.0 * x[1]"),
    _problem(10, "x[0] - x[1]", [-10, 10], -1.0,
             g="-3.0 * x[0] ** 2 + 2.0 * x[0] * x[1] - x[1] ** 2 + 1.0"),
    _problem(11, "(x[0] - 5.0) ** 2 + x[1] ** 2 - 25.0", [4.9, 0.1], -8.498464223,
             g="-x[0] ** 2 + x[1]"),
    _problem(12, "0.5 * x[0] ** 2 + x[1] ** 2 - x[0] * x[1] - 7.0 * x[0] - 7.0 * x[1]",
             [0, 0], -30.0, g="25.0 - 4.0 * x[0] ** 2 - x[1] ** 2"),
    _problem(14, "(x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2", [2, 2], 9 - 2.875 * math.sqrt(7),
             g="-0.25 * x[0] ** 2 - x[1] ** 2 + 1.0", h="x[0] - 2.0 * x[1] + 1.0"),
    _problem(15, ROSENBROCK, [-2, 1], 306.5, g="x[0] * x[1] - 1.0, x[0] + x[1] ** 2",
             bounds=[[None, 0.5], ANY]),
    _problem(16, ROSENBROCK, [-2, 1], 0.25, g="x[0] + x[1] ** 2, x[0] ** 2 + x[1]",
             bounds=[[-0.5, 0.5], [None, 1]]),
    _problem(17, ROSENBROCK, [-2, 1], 1.0, g="x[1] ** 2 - x[0], x[0] ** 2 - x[1]",
             bounds=[[-0.5, 0.5], [None, 1]]),
    _problem(18, "0.01 * x[0] ** 2 + x[1] ** 2", [2, 2], 5.0,
             g="x[0] * x[1] - 25.0, x[0] ** 2 + x[1] ** 2 - 25.0", bounds=[[2, 50], [0, 50]]),
    _problem(19, "(x[0] - 10.0) ** 3 + (x[1] - 20.0) ** 3", [20.1, 5.84], -6961.81381,
             g="(x[0] - 5.0) ** 2 + (x[1] - 5.0) ** 2 - 100.0, "
             "82.81 - (x[1] - 5.0) ** 2 - (x[0] - 6.0) ** 2", bounds=[[13, 100], [0, 100]]),
    _problem(20, ROSENBROCK, [-2, 1], 81.5 - 25 * math.sqrt(3),
             g="x[0] + x[1] ** 2, x[0] ** 2 + x[1], x[0] ** 2 + x[1] ** 2 - 1.0",
             bounds=[[-0.5, 0.5], ANY]),
    _problem(21, "0.01 * x[0] ** 2 + x[1] ** 2 - 100.0", [-1, -1], -99.96,
             g="10.0 * x[0] - x[1] - 10.0", bounds=[[2, 50], [-50, 50]]),
    _problem(22, "(x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2", [2, 2], 1.0,
             g="-x[0] - x[1] + 2.0, -x[0] ** 2 + x[1]"),
    _problem(23, "x[0] ** 2 + x[1] ** 2", [3, 1], 2.0,
             g="x[0] + x[1] - 1.0, x[0] ** 2 + x[1] ** 2 - 1.0, 9.0 * x[0] ** 2 + x[1] ** 2 - 9.0,"
             " x[0] ** 2 - x[1], x[1] ** 2 - x[0]", bounds=[[-50, 50], [-50, 50]]),
    _problem(24, "((x[0] - 3.0) ** 2 - 9.0) * x[1] ** 3 / (27.0 * sqrt(3.0))", [1, 0.5], -1.0,
             g="x[0] / sqrt(3.0) - x[1], x[0] + sqrt(3.0) * x[1], -x[0] - sqrt(3.0) * x[1] + 6.0",
             bounds=[[0, None], [0, None]]),
    _problem(25, f"sum((exp(-abs({U} - x[1]) ** x[2] / x[0]) - 0.01 * arange(1.0, 100.0)) ** 2)",
             [100, 12.5, 3], 0.0, bounds=[[0.1, 100], [0, 25.6], [0, 5]]),
    _problem(26, "(x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4", [-2.6, 2, 2], 0.0,
             h="(1.0 + x[1] ** 2) * x[0] + x[2] ** 4 - 3.0"),
    _problem(27, "0.01 * (x[0] - 1.0) ** 2 + (x[1] - x[0] ** 2) ** 2", [2, 2, 2], 0.04,
             h="x[0] + x[2] ** 2 + 1.0"),
    _problem(28, "(x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2", [-4, 1, 1], 0.0,
             h="x[0] + 2.0 * x[1] + 3.0 * x[2] - 1.0"),
    _problem(29, "-x[0] * x[1] * x[2]", [1, 1, 1], -16 * math.sqrt(2),
             g="-x[0] ** 2 - 2.0 * x[1] ** 2 - 4.0 * x[2] ** 2 + 48.0"),
    _problem(30, "x[0] ** 2 + x[1] ** 2 + x[2] ** 2", [1, 1, 1], 1.0,
             g="x[0] ** 2 + x[1] ** 2 - 1.0", bounds=[[1, 10], [-10, 10], [-10, 10]]),
    _problem(31, "9.0 * x[0] ** 2 + x[1] ** 2 + 9.0 * x[2] ** 2", [1, 1, 1], 6.0,
             g="x[0] * x[1] - 1.0", bounds=[[-10, 10], [1, 10], [-10, 1]]),
    _problem(32, "(x[0] + 3.0 * x[1] + x[2]) ** 2 + 4.0 * (x[0] - x[1]) ** 2", [0.1, 0.7, 0.2],
             1.0, g="6.0 * x[1] + 4.0 * x[2] - x[0] ** 3 - 3.0", h="1.0 - x[0] - x[1] - x[2]",
             bounds=[[0, None]] * 3),
    _problem(33, "(x[0] - 1.0) * (x[0] - 2.0) * (x[0] - 3.0) + x[2]", [0, 0, 3],
             math.sqrt(2) - 6, g="x[2] ** 2 - x[1] ** 2 - x[0] ** 2, "
             "x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - 4.0", bounds=[[0, None], [0, None], [0, 5]]),
    _problem(34, "-x[0]", [0, 1.05, 2.9], -math.log(math.log(10)),
             g="x[1] - exp(x[0]), x[2] - exp(x[1])", bounds=[[0, 100], [0, 100], [0, 10]]),
    _problem(35, "9.0 - 8.0 * x[0] - 6.0 * x[1] - 4.0 * x[2] + 2.0 * x[0] ** 2 "
             "+ 2.0 * x[1] ** 2 + x[2] ** 2 + 2.0 * x[0] * x[1] + 2.0 * x[0] * x[2]",
             [0.5, 0.5, 0.5], 1 / 9, g="3.0 - x[0] - x[1] - 2.0 * x[2]", bounds=[[0, None]] * 3),
    _problem(36, "-x[0] * x[1] * x[2]", [10, 10, 10], -3300.0,
             g="72.0 - x[0] - 2.0 * x[1] - 2.0 * x[2]", bounds=[[0, 20], [0, 11], [0, 42]]),
    _problem(37, "-x[0] * x[1] * x[2]", [10, 10, 10], -3456.0,
             g="72.0 - x[0] - 2.0 * x[1] - 2.0 * x[2], x[0] + 2.0 * x[1] + 2.0 * x[2]",
             bounds=[[0, 42]] * 3),
    _problem(38, f"{ROSENBROCK} + 90.0 * (x[3] - x[2] ** 2) ** 2 + (1.0 - x[2]) ** 2 "
             "+ 10.1 * ((x[1] - 1.0) ** 2 + (x[3] - 1.0) ** 2) "
             "+ 19.8 * (x[1] - 1.0) * (x[3] - 1.0)", [-3, -1, -3, -1], 0.0,
             bounds=[[-10, 10]] * 4),
    _problem(39, "-x[0]", [2, 2, 2, 2], -1.0,
             h="x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2"),
    _problem(40, "-x[0] * x[1] * x[2] * x[3]", [0.8] * 4, -0.25,
             h="x[0] ** 3 + x[1] ** 2 - 1.0, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]"),
)  # fmt: skip
