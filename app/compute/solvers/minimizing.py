"""``minimize``: reads the call, chooses the method, and runs it as a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from app.compute.call import Call
from app.compute.solvers import options as read
from app.compute.solvers.box import Box
from app.compute.solvers.fallback import Fallback
from app.compute.solvers.newton import Newton, Point
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.quasi_newton import Bfgs, ConjugateGradients, Descent, Lbfgs
from app.compute.solvers.unknowns import Unknowns

METHODS = ("auto", "newton", "bfgs", "l_bfgs", "nonlinear_cg")
NEWTON_UNKNOWNS = 100
"""Up to here ``auto`` takes second derivatives: n gradients' worth of work an iteration."""


class Method(Protocol):
    """An iteration over states that have a ``point``."""

    def start(self, x: Any, extra: Any) -> Any: ...

    def step(self, state: Any, extra: Any) -> Any: ...


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
        """Iteration, value and the largest entry of the (projected) gradient."""
        point: Point = state.point
        return {
            "iteration": point.iteration,
            "value": point.value,
            "gradient_norm": self.box.stationarity(point.x, point.gradient),
        }

    def finish(self, state: Any) -> dict[str, Any]:
        """The minimiser found and what it cost."""
        point: Point = state.point
        return {
            "solution": self.unknowns.pack(point.x),
            "value": point.value,
            "gradient_norm": self.box.stationarity(point.x, point.gradient),
            "iterations": point.iteration,
            "evaluations": point.evaluations,
            "outcome": point.outcome,
        }


def limited(state: Any, max_steps: int) -> Any:
    """The state, stopped when its iterations are used up."""
    point = state.point
    over = (point.iteration >= max_steps) & (point.outcome == Outcome.RUNNING)
    outcome = jnp.where(over, Outcome.LIMIT, point.outcome).astype(jnp.int32)
    return state._replace(point=point._replace(outcome=outcome))


def tolerance_of(options: Any, dtype: Any) -> float:
    """``tol``: the largest entry of the gradient allowed, by default 1e-8, or 1e-5 in float32."""
    return read.number(options, "tol", 1e-8 if dtype == jnp.float64 else 1e-5)


def build(call: Call) -> Minimizer:
    """The machine of a call."""
    call.require_scalar("minimize")
    unknowns = Unknowns.of(call)
    x = unknowns.start
    box = read.box_or_space(call.options, x)
    tolerance = tolerance_of(call.options, x.dtype)
    method = _method(call, unknowns, box, tolerance)
    return Minimizer(method, unknowns, box, read.count(call.options, "max_steps", 10_000))


def objective(unknowns: Unknowns) -> Callable[[Any, Any], Any]:
    """The value of a flat vector."""
    return lambda x, extra: jax.tree.leaves(unknowns.function(x))[0]


def _method(call: Call, unknowns: Unknowns, box: Box, tolerance: float) -> Method:
    name = read.one_of(call.options, "method", METHODS, "auto")
    value = objective(unknowns)
    if name == "auto":
        name = "both" if unknowns.start.size <= NEWTON_UNKNOWNS else "l_bfgs"
    newton = Newton(value, box, tolerance)
    bfgs = Descent(value, box, Bfgs(), tolerance)
    return {
        "both": Fallback(newton, bfgs),
        "newton": newton,
        "bfgs": bfgs,
        "l_bfgs": Descent(value, box, Lbfgs(), tolerance),
        "nonlinear_cg": Descent(value, box, ConjugateGradients(), tolerance),
    }[name]
