"""``minimize`` by an optax optimiser on the full gradient: adam and its kin, with schedules.

An update is not checked to go down, so only a vanishing gradient is a success; bounds are kept by
moving each point back into the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from app.compute.solvers.box import Box
from app.compute.solvers.minimize import stillness
from app.compute.solvers.minimize.newton import Point, all_finite, choose
from app.compute.solvers.outcomes import Outcome


class DescentState(NamedTuple):
    """The point and what the optimiser remembers."""

    point: Point
    memory: Any


@dataclass(frozen=True)
class GradientDescent:
    """Minimise ``value(x, extra)`` over a box by ``update``'s steps."""

    value: Callable[[Any, Any], Any]
    box: Box
    update: optax.GradientTransformation
    tolerance: float

    def start(self, x: Any, extra: Any) -> DescentState:
        """Evaluate at the start, moved into the box."""
        point = Point.start(lambda x: self.value(x, extra), self.box, x)
        ended = self._ended(point.steepest, point.value, point.steepest)
        outcome = jnp.where(point.outcome == Outcome.RUNNING, ended, point.outcome)
        point = point._replace(outcome=outcome.astype(jnp.int32))
        return DescentState(point, self.update.init(point.x))

    def step(self, state: DescentState, extra: Any) -> DescentState:
        """One update; a point where values are not finite is not taken."""
        old = state.point
        change, memory = self.update.update(old.gradient, state.memory, old.x)
        x = self.box.project(old.x + jnp.asarray(change))
        value, gradient = jax.value_and_grad(self.value)(x, extra)
        finite = all_finite(x, value, gradient)
        slope = self.box.stationarity(x, gradient)
        steepest = jnp.where(finite, jnp.maximum(old.steepest, slope), old.steepest)
        outcome = jnp.where(finite, self._ended(slope, value, steepest), Outcome.NOT_FINITE)
        low = stillness.endless(value, old.value, old.level)
        outcome = jnp.where(low, Outcome.UNBOUNDED, outcome)
        x, value, gradient = choose(finite, (x, value, gradient), (old.x, old.value, old.gradient))
        point = old._replace(
            x=x,
            value=value,
            gradient=gradient,
            iteration=old.iteration + 1,
            evaluations=old.evaluations + 1,
            outcome=outcome.astype(jnp.int32),
            steepest=steepest,
        )
        return DescentState(point, memory)

    def _ended(self, slope: Any, value: Any, steepest: Any) -> Any:
        still = stillness.small(slope, steepest, self.tolerance)
        return jnp.where(still & jnp.isfinite(value), Outcome.GRADIENT, Outcome.RUNNING)
