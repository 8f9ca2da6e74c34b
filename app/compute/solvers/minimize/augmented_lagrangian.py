"""``minimize`` with equality and inequality constraints: the augmented Lagrangian method.

Powell, Hestenes and Rockafellar's function, minimised again and again with better multipliers;
Nocedal and Wright, sections 17.3 and 17.4. Equalities are c(x) = 0, inequalities c(x) >= 0. The
penalty grows only while violations do not fall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from app.compute.solvers.box import Box
from app.compute.solvers.jacobian import jacobian as jacobian_of
from app.compute.solvers.minimize.constraints import Constraints, Multipliers
from app.compute.solvers.minimize.newton import Point, choose
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.unknowns import Unknowns, shown, sizes

PENALTY = 10.0
LARGEST_PENALTY = 1e10


class Constrained(NamedTuple):
    """The inner method's state, multipliers, largest violation so far, and totals."""

    inner: Any
    multipliers: Multipliers
    violation: Any
    iteration: Any
    evaluations: Any
    outcome: Any


class Inner(Protocol):
    """A method for one set of multipliers."""

    def start(self, x: Any, extra: Any) -> Any: ...

    def step(self, state: Any, extra: Any) -> Any: ...


@dataclass(frozen=True)
class AugmentedLagrangian:
    """The machine: inner iterations, and new multipliers whenever the inner method ends."""

    inner: Inner
    value: Callable[[Any, Any], Any]
    constraints: Constraints
    unknowns: Unknowns
    box: Box
    tolerance: float
    max_steps: int

    def init(self) -> Constrained:
        """No multipliers yet, a mild penalty."""
        x = self.unknowns.start
        c, d = self.constraints.equal(x), self.constraints.least(x)
        first = Multipliers(jnp.zeros_like(c), jnp.zeros_like(d), jnp.full((), PENALTY, x.dtype))
        inner = self.inner.start(x, first)
        zero = jnp.zeros((), jnp.int32)
        start = inner.point.outcome == Outcome.START
        outcome = jnp.where(start, Outcome.START, Outcome.RUNNING).astype(jnp.int32)
        return Constrained(inner, first, jnp.full((), jnp.inf, x.dtype), zero, zero + 1, outcome)

    def step(self, state: Constrained) -> Constrained:
        """One inner iteration; at the end of the inner solve, new multipliers."""
        ended = state.inner.point.outcome != Outcome.RUNNING
        multipliers, violation, outcome = jax.lax.cond(ended, self._updated, self._unchanged, state)
        fresh = self._again(state.inner.point, multipliers)
        inner = choose(ended, fresh, state.inner)
        stop = outcome != Outcome.RUNNING
        moved = self.inner.step(inner, multipliers)
        taken = choose(stop, state.inner, moved)
        cost = jnp.where(ended, 1, 0) + moved.point.evaluations - inner.point.evaluations
        over = (state.iteration + 1 >= self.max_steps) & ~stop
        return Constrained(
            taken,
            multipliers,
            violation,
            state.iteration + 1,
            state.evaluations + jnp.where(stop, 0, cost),
            jnp.where(over, Outcome.LIMIT, outcome).astype(jnp.int32),
        )

    def _again(self, point: Point, multipliers: Multipliers) -> Any:
        """The inner method from where it ended, still knowing the steepest gradient it saw."""
        fresh = self.inner.start(point.x, multipliers)
        steepest = jnp.maximum(fresh.point.steepest, point.steepest)
        return fresh._replace(point=fresh.point._replace(steepest=steepest))

    def _unchanged(self, state: Constrained) -> tuple[Multipliers, Any, Any]:
        return state.multipliers, state.violation, jnp.full((), Outcome.RUNNING, jnp.int32)

    def _units(self, x: Any, violated: Any) -> Any:
        """What violations are measured in: what derivatives make of the size of the unknowns, or 1
        if that is less, for 1e-12 (x - 5) is not 0 at 1."""
        if not violated.size:
            return violated

        def values(x: Any) -> Any:
            return jnp.concatenate([self.constraints.equal(x), self.constraints.least(x)])

        jacobian = jax.jacrev(values)(x) if violated.size < x.size else jacobian_of(values, x)
        return jnp.minimum(1.0, jnp.abs(jacobian) @ sizes(self.unknowns.start, x))

    def _updated(self, state: Constrained) -> tuple[Multipliers, Any, Any]:
        """First-order multipliers, the violation, and why to stop, if so."""
        old, point = state.multipliers, state.inner.point
        c, d = self.constraints.equal(point.x), self.constraints.least(point.x)
        least = jnp.maximum(0.0, old.least - old.penalty * d)
        slack = jnp.minimum(d, old.least / old.penalty)
        violated = jnp.abs(jnp.concatenate([c, slack]))
        violation = jnp.max(violated, initial=0.0)
        endless = point.outcome == Outcome.UNBOUNDED
        poor = (violation > 0.25 * state.violation) | endless
        penalty = jnp.where(poor, 10.0 * old.penalty, old.penalty)
        new = Multipliers(old.equal + old.penalty * c, least, penalty)
        good = (point.outcome == Outcome.GRADIENT) | (point.outcome == Outcome.PRECISION)
        units = self._units(point.x, violated)
        met = jnp.all(violated <= self.tolerance * units)
        outcome = jnp.where(met & good, Outcome.FEASIBLE, Outcome.RUNNING)
        outcome = jnp.where(met & endless, Outcome.UNBOUNDED, outcome)
        spent = penalty > LARGEST_PENALTY
        lost = jnp.where(met, Outcome.STALLED, Outcome.INFEASIBLE)
        near = jnp.all(violated <= self.tolerance**0.5 * units)
        lost = jnp.where(near & good & ~met, Outcome.STALLED, lost)
        outcome = jnp.where(spent & (outcome == Outcome.RUNNING), lost, outcome)
        outcome = jnp.where(jnp.isfinite(violation), outcome, Outcome.NOT_FINITE)
        return new, violation, outcome.astype(jnp.int32)

    def done(self, state: Constrained) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Constrained) -> dict[str, Any]:
        """Iteration, objective, gradient of the Lagrangian, violation of constraints, point."""
        point: Point = state.inner.point
        return {
            "iteration": state.iteration,
            "value": self.value(point.x, ()),
            "gradient_norm": self.box.stationarity(point.x, point.gradient),
            "violation": state.violation,
            **shown(point.x),
        }

    def finish(self, state: Constrained) -> dict[str, Any]:
        """The minimiser, how well constraints hold there, and their multipliers."""
        point: Point = state.inner.point
        c, d = self.constraints.equal(point.x), self.constraints.least(point.x)
        violation = jnp.maximum(
            jnp.max(jnp.abs(c), initial=0.0), jnp.max(-jnp.minimum(d, 0.0), initial=0.0)
        )
        return {
            "solution": self.unknowns.pack(point.x),
            "value": self.value(point.x, ()),
            "gradient_norm": self.box.stationarity(point.x, point.gradient),
            "violation": violation,
            "multipliers": {
                "equality": state.multipliers.equal,
                "inequality": state.multipliers.least,
            },
            "iterations": state.iteration,
            "evaluations": state.evaluations,
            "outcome": state.outcome,
        }
