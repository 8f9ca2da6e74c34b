"""Newton's method, and BFGS or L-BFGS from the start again where it stalls: ``auto``.

Second derivatives say nothing at a kink; BFGS with a bracketing line search still finds its way
(Lewis and Overton 2013), but not from a point that lies on one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.minimize.newton import Newton, NewtonState, Point, choose
from app.compute.solvers.minimize.quasi_newton import Descent, DescentState
from app.compute.solvers.outcomes import Outcome


class FallbackState(NamedTuple):
    """``point`` is that of whichever method is at work; ``second`` says which.

    ``origin`` is where both start.
    """

    point: Point
    first: NewtonState
    then: DescentState
    second: Any
    origin: Point


@dataclass(frozen=True)
class Fallback:
    """The first method until it stalls, then the second to the end."""

    newton: Newton
    bfgs: Descent

    def start(self, x: Any, extra: Any) -> FallbackState:
        """Newton's start."""
        first = self.newton.start(x, extra)
        then = self._begin(first.point)
        return FallbackState(first.point, first, then, jnp.zeros((), bool), first.point)

    def step(self, state: FallbackState, extra: Any) -> FallbackState:
        """A step of the method at work; hand over when Newton's stalls."""

        def second() -> FallbackState:
            then = self.bfgs.step(state.then._replace(point=state.point), extra)
            return state._replace(point=_better(then.point, state.first.point), then=then)

        def first() -> FallbackState:
            new = self.newton.step(state.first._replace(point=state.point), extra)
            stuck = new.point.outcome == Outcome.STALLED
            origin = state.origin._replace(
                iteration=new.point.iteration, evaluations=new.point.evaluations
            )
            point = choose(stuck, origin, new.point)
            return FallbackState(point, new, self._begin(point), stuck, state.origin)

        return jax.lax.cond(state.second, second, first)

    def _begin(self, point: Point) -> DescentState:
        memory = self.bfgs.memory.start(point.x)
        return DescentState(point, memory, jnp.ones((), bool), jnp.zeros_like(point.value))


def _better(second: Point, first: Point) -> Point:
    """The second method's point; at its end the lower of both."""
    lost = (second.outcome != Outcome.RUNNING) & (first.value < second.value)
    kept = first._replace(iteration=second.iteration, evaluations=second.evaluations)
    return choose(lost, kept, second)
