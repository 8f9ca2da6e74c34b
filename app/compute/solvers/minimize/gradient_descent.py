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
from app.compute.solvers.minimize.newton import Point, all_finite, choose, fell
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
        x = self.box.project(x)
        value, gradient = jax.value_and_grad(self.value)(x, extra)
        finite = all_finite(value, gradient)
        steepest = self.box.stationarity(x, gradient)
        outcome = jnp.where(finite, self._ended(steepest, value, steepest), Outcome.START)
        zero = jnp.zeros((), jnp.int32)
        outcome = outcome.astype(jnp.int32)
        point = Point(x, value, gradient, zero, zero + 1, outcome, steepest)
        return DescentState(point, self.update.init(x))

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
        outcome = jnp.where(fell(value, old.value), Outcome.UNBOUNDED, outcome)
        x, value, gradient = choose(finite, (x, value, gradient), (old.x, old.value, old.gradient))
        point = Point(
            x, value, gradient, old.iteration + 1, old.evaluations + 1,
            outcome.astype(jnp.int32), steepest,
        )  # fmt: skip
        return DescentState(point, memory)

    def _ended(self, slope: Any, value: Any, steepest: Any) -> Any:
        still = stillness.small(slope, steepest, self.tolerance)
        return jnp.where(still & jnp.isfinite(value), Outcome.GRADIENT, Outcome.RUNNING)
