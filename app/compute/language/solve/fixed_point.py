"""``solve.fixed_point``: x = g(x), inside a function."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from app.compute.language.solve import options as read
from app.compute.language.solve.outcomes import answer
from app.compute.solvers import implicit
from app.compute.solvers.equations.fixed_point import METHODS, FixedPoint, default_tolerance
from app.compute.solvers.machine import advance, start
from app.compute.solvers.unknowns import Unknowns

ORDER = 1


def fixed_point(
    g: Any,
    x0: Any,
    *args: Any,
    method: str = "anderson",
    tol: float | None = None,
    max_steps: int = 10_000,
    full: bool = False,
) -> Any:
    """Find x with x = g(x, *args), from x0, by iterating.

    The answer is x, shaped as x0; with ``full=True`` also residual, iterations, evaluations,
    success and outcome. NaN where the iteration did not settle. Differentiable in everything but
    x0.
    """
    unknowns = Unknowns.inside(g, x0, args)
    mapping = unknowns.vector("solve.fixed_point", square=True)
    x = unknowns.start
    tolerance = read.tolerance(tol, default_tolerance(x.dtype))
    anderson = read.choice("method", method, METHODS) == "anderson"
    steps = read.count("max_steps", max_steps)
    machine = FixedPoint(mapping, unknowns, anderson, tolerance, steps)

    def solve() -> tuple[jax.Array, implicit.Told]:
        state = advance(machine, start(machine))
        return state.x, {
            "residual": jnp.max(jnp.abs(state.residual)),
            "iterations": state.iteration,
            "evaluations": state.evaluations,
            "outcome": state.outcome,
        }

    found, told = implicit.solution(lambda x: mapping(x) - x, x, solve)
    return answer(unknowns, found, told, full)
