"""``solve.root``: a zero of as many equations as unknowns, inside a function."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from app.compute.language.solve import options as read
from app.compute.language.solve.outcomes import answer
from app.compute.solvers import implicit
from app.compute.solvers.box import unbounded
from app.compute.solvers.equations.root import verdict
from app.compute.solvers.equations.rooting import default_tolerance, root_finder
from app.compute.solvers.machine import advance, start
from app.compute.solvers.unknowns import Unknowns

ORDER = 1
METHODS = ("newton", "broyden", "chord")


def root(
    f: Any,
    x0: Any,
    *args: Any,
    method: str = "newton",
    tol: float | None = None,
    max_steps: int = 1000,
    full: bool = False,
) -> Any:
    """Find x with f(x, *args) = 0, from x0; f returns as many numbers as x holds.

    The answer is x, shaped as x0; with ``full=True`` also residual, iterations, evaluations,
    success and outcome. NaN where no root was found. Differentiable in everything but x0; NaN
    where the Jacobian is singular, as at a double root.
    """
    unknowns = Unknowns.inside(f, x0, args)
    equations = unknowns.vector("solve.root", square=True)
    x = unknowns.start
    tolerance = read.tolerance(tol, default_tolerance(x.dtype))
    name, steps = read.choice("method", method, METHODS), read.count("max_steps", max_steps)
    machine = root_finder(name, equations, unknowns, unbounded(x), tolerance, steps)

    def solve() -> tuple[jax.Array, implicit.Told]:
        state = advance(machine, start(machine))
        return state.x, {
            "residual": jnp.max(jnp.abs(equations(state.x))),
            "iterations": state.iteration,
            "evaluations": state.evaluations,
            "outcome": verdict(equations, x, state.x, state.outcome, tolerance),
        }

    found, told = implicit.solution(equations, x, solve)
    return answer(unknowns, found, told, full)
