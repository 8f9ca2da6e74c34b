"""``solve.minimize``: the least value of a scalar function, inside a function."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.language.solve import options as read
from app.compute.language.solve.outcomes import answer
from app.compute.solvers import implicit
from app.compute.solvers.box import Box, unbounded
from app.compute.solvers.machine import advance, start
from app.compute.solvers.minimize.methods import HESSIANS, METHODS, Problem, method_of
from app.compute.solvers.minimize.minimizing import Minimizer, default_tolerance
from app.compute.solvers.unknowns import Unknowns
from app.core.errors import InvalidArgument

ORDER = 2
FORMS = tuple(form for form in HESSIANS if form != "sparse")
WITH_DERIVATIVES = tuple(name for name in METHODS if name != "nelder_mead")
REFUSED = {
    "constraints": "put them into f as a penalty, solve their multipliers' equations with "
    "solve.root, or use bounds; the verb minimize takes constraints",
}
"""Options of the verb that are not taken here, with what to do instead."""


class Minimum(NamedTuple):
    """``solution``, ``value`` and ``gradient_norm`` there, counts, ``success``, ``outcome``."""

    solution: Any
    value: jax.Array
    gradient_norm: jax.Array
    iterations: jax.Array
    evaluations: jax.Array
    success: jax.Array
    outcome: jax.Array


def minimize(
    f: Any,
    x0: Any,
    *args: Any,
    method: str = "auto",
    hessian: str = "auto",
    tol: float | None = None,
    max_steps: int = 10_000,
    bounds: Any = None,
    options: Any = None,
    full: bool = False,
) -> Any:
    """Minimise f(x, *args) over x, from x0; ``bounds`` is [lower, upper], or such for each number.

    ``method`` may be an optimiser of optax, over ``max_steps`` updates, with its ``options``.
    The answer is the x found, shaped as x0; with ``full=True`` also value, gradient_norm,
    iterations, evaluations, success and outcome. NaN where it did not converge. Differentiable in
    everything but x0: where a bound holds x the derivative is that of the bound, and NaN where the
    gradient vanishes on a bound or the Hessian is singular.
    """
    unknowns = Unknowns.inside(f, x0, args)
    value = unknowns.scalar("solve.minimize")
    x = unknowns.start
    box = _box(bounds, x)
    tolerance = read.tolerance(tol, default_tolerance(x.dtype))
    steps = read.count("max_steps", max_steps)
    problem = Problem(lambda x, _: value(x), x.size, box, tolerance, steps)
    how = {
        "method": read.choice("method", method, WITH_DERIVATIVES),
        "hessian": read.choice("hessian", hessian, FORMS),
        "options": read.settings(options),
    }
    machine = Minimizer(method_of(problem, how), unknowns, box, steps)

    def solve() -> tuple[jax.Array, implicit.Told]:
        point = advance(machine, start(machine)).point
        slope = box.stationarity(point.x, point.gradient)
        return point.x, {
            "gradient_norm": slope,
            "iterations": point.iteration,
            "evaluations": point.evaluations,
            "outcome": point.outcome,
        }

    branch = _stationary(value, box, tolerance)
    found, told = implicit.solution(lambda x: branch(x)(x), x, solve, symmetric=True, branch=branch)

    def record(solution: Any, x: jax.Array, *ending: jax.Array) -> Minimum:
        return Minimum(solution, value(x), told["gradient_norm"], *ending)

    return answer(unknowns, found, told, full, record)


def _stationary(value: Any, box: Box, tolerance: float) -> Any:
    """The equations of a minimum: gradient 0 in the free unknowns, the others on their bounds.

    Which are free is seen at one point, the equations are those near it.
    """
    slope = jax.grad(value)
    if not box.bounded:
        return lambda _: slope

    def branch(at: jax.Array) -> Any:
        fixed = jax.lax.stop_gradient((at, slope(at)))
        held = ~box.free(*fixed) | (box.lower == box.upper)
        # On a bound that does not push, one side moves and the other does not.
        loose = ~held & ((fixed[0] <= box.lower) | (fixed[0] >= box.upper))
        weak = held & (jnp.abs(fixed[1]) <= tolerance) & (box.lower < box.upper)
        kink = jnp.where(loose | weak, jnp.nan, 1.0)
        bound = jnp.where(fixed[0] <= box.lower, box.lower, box.upper)
        return lambda x: kink * jnp.where(held, x - bound, slope(x))

    return branch


def _box(bounds: Any, x: jax.Array) -> Box:
    if bounds is None:
        return unbounded(x)
    pairs = jnp.asarray(bounds, x.dtype)
    if pairs.shape not in ((2,), (x.size, 2)):
        raise InvalidArgument(
            f"bounds have shape {list(pairs.shape)}; there are {x.size} unknowns",
            hint="[lower, upper] for all, or one such row for each; inf where there is none",
        )
    lower, upper = jnp.broadcast_to(pairs, (x.size, 2)).T
    return Box(lower, upper)
