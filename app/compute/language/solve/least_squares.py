"""``solve.least_squares``: the least sum of squares of a vector function, inside a function."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.language.solve import options as read
from app.compute.language.solve.outcomes import answer
from app.compute.solvers import implicit
from app.compute.solvers.box import unbounded
from app.compute.solvers.equations.fitting import Fitter, default_tolerance
from app.compute.solvers.equations.least_squares import METHODS, LeastSquares
from app.compute.solvers.machine import advance, start
from app.compute.solvers.unknowns import Unknowns

ORDER = 2


class Fitted(NamedTuple):
    """``solution``, the sum of squares (``value``), counts, ``success`` and ``outcome``."""

    solution: Any
    value: jax.Array
    iterations: jax.Array
    evaluations: jax.Array
    success: jax.Array
    outcome: jax.Array


def least_squares(
    f: Any,
    x0: Any,
    *args: Any,
    method: str = "levenberg_marquardt",
    tol: float | None = None,
    max_steps: int = 10_000,
    full: bool = False,
) -> Any:
    """Find the x, from x0, with the least sum of squares of all that f(x, *args) returns.

    The answer is x, shaped as x0; with ``full=True`` also value, iterations, evaluations, success
    and outcome. NaN where it did not converge. Differentiable in everything but x0; NaN where the
    second derivatives of the sum are singular.
    """
    unknowns = Unknowns.inside(f, x0, args)
    residuals = unknowns.vector("solve.least_squares")
    x = unknowns.start
    how = LeastSquares(
        residuals,
        unbounded(x),
        read.choice("method", method, METHODS),
        read.tolerance(tol, default_tolerance(x.dtype)),
        read.count("max_steps", max_steps),
    )
    machine = Fitter(how, unknowns)

    def solve() -> tuple[jax.Array, implicit.Told]:
        fit = advance(machine, start(machine))
        return fit.x, {
            "iterations": fit.iteration,
            "evaluations": fit.evaluations,
            "outcome": fit.outcome,
        }

    def half(x: jax.Array) -> jax.Array:
        return 0.5 * jnp.sum(residuals(x) ** 2)

    found, told = implicit.solution(jax.grad(half), x, solve, symmetric=True)
    return answer(
        unknowns, found, told, full, lambda solution, x, *end: Fitted(solution, 2 * half(x), *end)
    )
