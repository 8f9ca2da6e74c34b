"""``minimize``: reads the call, chooses the method, and runs it as a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls.call import Call
from app.compute.programs import coloured
from app.compute.solvers import options as read
from app.compute.solvers.box import Box
from app.compute.solvers.machine import Machine
from app.compute.solvers.minimize.augmented_lagrangian import AugmentedLagrangian
from app.compute.solvers.minimize.constraints import constraints_of
from app.compute.solvers.minimize.methods import Method, Problem, method_of
from app.compute.solvers.minimize.newton import Point
from app.compute.solvers.multi_start import from_starts
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.unknowns import Unknowns, shown
from app.core.errors import InvalidArgument
from app.sparse.jacobian import Plan


@dataclass(frozen=True)
class Minimizer:
    """The machine of one method."""

    method: Method
    unknowns: Unknowns
    box: Box
    max_steps: int

    def init(self) -> Any:
        """Evaluate at the start."""
        return self.method.start(self.unknowns.start, ())

    def step(self, state: Any) -> Any:
        """One iteration; stop at the limit."""
        return limited(self.method.step(state, ()), self.max_steps)

    def done(self, state: Any) -> Any:
        """Whether there is an outcome."""
        return state.point.outcome != Outcome.RUNNING

    def progress(self, state: Any) -> dict[str, Any]:
        """Iteration, value, the largest entry of the (projected) gradient, and the point."""
        point: Point = state.point
        return {
            "iteration": point.iteration,
            "value": point.value,
            **self._slope(point),
            **shown(point.x),
        }

    def finish(self, state: Any) -> dict[str, Any]:
        """The minimiser found and what it cost."""
        point: Point = state.point
        return {
            "solution": self.unknowns.pack(point.x),
            "value": point.value,
            **self._slope(point),
            "iterations": point.iteration,
            "evaluations": point.evaluations,
            "outcome": point.outcome,
        }

    def _slope(self, point: Point) -> dict[str, Any]:
        """Nothing for methods without derivatives."""
        if point.gradient is None:
            return {}
        return {"gradient_norm": self.box.stationarity(point.x, point.gradient)}


def limited(state: Any, max_steps: int) -> Any:
    """The state, stopped when its iterations are used up."""
    point = state.point
    over = (point.iteration >= max_steps) & (point.outcome == Outcome.RUNNING)
    outcome = jnp.where(over, Outcome.LIMIT, point.outcome).astype(jnp.int32)
    return state._replace(point=point._replace(outcome=outcome))


def default_tolerance(dtype: Any) -> float:
    """The largest entry of the gradient allowed, where ``tol`` says nothing."""
    return 1e-8 if dtype == jnp.float64 else 1e-5


def build(call: Call) -> Machine:
    """The machine of a call."""
    unknowns = Unknowns.of(call)
    call.require_scalar("minimize")
    box = read.box_or_space(call.options, unknowns.start)
    return from_starts(call, unknowns, box, lambda start: _machine(call, start, box))


def _machine(call: Call, unknowns: Unknowns, box: Box) -> Machine:
    """The machine from one start."""
    x = unknowns.start
    tolerance = read.number(call.options, "tol", default_tolerance(x.dtype))
    steps = read.count(call.options, "max_steps", 10_000)
    value = objective(unknowns)
    constraints = constraints_of(call, unknowns)
    if constraints is None:
        problem = Problem(value, x.size, box, tolerance, steps, plan=call.plan)
        return Minimizer(method_of(problem, call.options), unknowns, box, steps)
    lagrangian = constraints.lagrangian(value)
    problem = Problem(lagrangian, x.size, box, tolerance, steps, constrained=True)
    inner = method_of(problem, call.options)
    return AugmentedLagrangian(inner, value, constraints, unknowns, box, tolerance, steps)


def plan(call: Call) -> Plan | None:
    """The plan of the sparse Hessian, where the call asks for one."""
    if call.options.get("hessian") != "sparse":
        return None
    if call.options.get("constraints"):
        raise InvalidArgument(
            "a sparse Hessian is not taken of a Lagrangian", pointer="/hessian", hint="use hvp"
        )
    return coloured.plan(replace(call, options={"sparse": True}), "hessian")


def objective(unknowns: Unknowns) -> Callable[[Any, Any], Any]:
    """The value of a flat vector."""
    return lambda x, extra: jax.tree.leaves(unknowns.function(x))[0]
