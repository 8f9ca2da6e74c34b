"""``minimize``: reads the call, chooses the method, and runs it as a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from app.compute import results
from app.compute.call import Call
from app.compute.solvers import options as read
from app.compute.solvers.augmented_lagrangian import AugmentedLagrangian, Constraints
from app.compute.solvers.box import Box
from app.compute.solvers.fallback import Fallback
from app.compute.solvers.machine import Machine
from app.compute.solvers.newton import Newton, Point
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.quasi_newton import Bfgs, ConjugateGradients, Descent, Lbfgs
from app.compute.solvers.unknowns import Unknowns, shown
from app.core.errors import InvalidArgument

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
        """Iteration, value, the largest entry of the (projected) gradient, and the point."""
        point: Point = state.point
        return {
            "iteration": point.iteration,
            "value": point.value,
            "gradient_norm": self.box.stationarity(point.x, point.gradient),
            **shown(point.x),
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


def build(call: Call) -> Machine:
    """The machine of a call."""
    call.require_scalar("minimize")
    unknowns = Unknowns.of(call)
    x = unknowns.start
    box = read.box_or_space(call.options, x)
    tolerance = tolerance_of(call.options, x.dtype)
    steps = read.count(call.options, "max_steps", 10_000)
    value = objective(unknowns)
    constraints = _constraints(call, unknowns)
    if constraints is None:
        method = _method(call, value, x.size, box, tolerance)
        return Minimizer(method, unknowns, box, steps)
    lagrangian = constraints.lagrangian(value)
    inner = _method(call, lagrangian, x.size, box, tolerance, smooth=True)
    return AugmentedLagrangian(inner, value, constraints, unknowns, box, tolerance, steps)


KINDS = ("equality", "inequality")


def _constraints(call: Call, unknowns: Unknowns) -> Constraints | None:
    """``constraints``: names of functions of the source, taking the same arguments."""
    given = call.options.get("constraints")
    if not given:
        return None
    if not isinstance(given, dict) or not set(given) <= set(KINDS):
        raise InvalidArgument(
            "constraints names functions of the source",
            pointer="/constraints",
            hint='{"equality": "h", "inequality": ["g1", "g2"]}: h(x) = 0, g(x) >= 0',
        )
    return Constraints(*(_stacked(call, unknowns, given.get(kind, []), kind) for kind in KINDS))


def _stacked(call: Call, unknowns: Unknowns, names: Any, kind: str) -> Callable[[Any], Any]:
    """All constraints of a kind as one vector."""
    names = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument("a constraint is named", pointer=f"/constraints/{kind}")
    functions = [call.companion(name) for name in names]

    def stacked(x: Any) -> Any:
        args = list(call.args)
        for position, tree in zip(call.wrt.positions, unknowns.trees(x), strict=True):
            args[position] = tree
        parts = [ravel_pytree(results.arrays(function(*args)))[0] for function in functions]
        return jnp.concatenate([jnp.zeros(0, x.dtype), *parts]).astype(x.dtype)

    return stacked


def objective(unknowns: Unknowns) -> Callable[[Any, Any], Any]:
    """The value of a flat vector."""
    return lambda x, extra: jax.tree.leaves(unknowns.function(x))[0]


def _method(
    call: Call,
    value: Callable[[Any, Any], Any],
    size: int,
    box: Box,
    tolerance: float,
    *,
    smooth: bool = False,
) -> Method:
    """The method of a name; ``smooth`` leaves out what ``auto`` does at kinks."""
    name = read.one_of(call.options, "method", METHODS, "auto")
    if name == "auto":
        name = "l_bfgs" if size > NEWTON_UNKNOWNS else "newton" if smooth else "both"
    newton = Newton(value, box, tolerance)
    bfgs = Descent(value, box, Bfgs(), tolerance)
    return {
        "both": Fallback(newton, bfgs),
        "newton": newton,
        "bfgs": bfgs,
        "l_bfgs": Descent(value, box, Lbfgs(), tolerance),
        "nonlinear_cg": Descent(value, box, ConjugateGradients(), tolerance),
    }[name]
