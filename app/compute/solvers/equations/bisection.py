"""``root`` of one unknown inside a bracket, by bisection to the last bit.

A change of sign is not yet a root: at a pole or a jump the values do not shrink with the bracket.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp

from app.compute.solvers.equations.root import answer
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.unknowns import Unknowns, shown

SHRUNK = 1e-3
"""A root's value is below this part of the smaller end value when the bracket is closed."""


class Bracket(NamedTuple):
    """The ends, the value at the low one, the best point, and the size of values at first."""

    low: Any
    high: Any
    low_value: Any
    x: Any
    value: Any
    size: Any
    iteration: Any
    evaluations: Any
    outcome: Any


@dataclass(frozen=True)
class Bisection:
    """Halve a bracket of a scalar function."""

    function: Callable[[Any], Any]
    unknowns: Unknowns
    low: float
    high: float

    def init(self) -> Bracket:
        """Evaluate at both ends, which must differ in sign."""
        dtype = self.unknowns.start.dtype
        low, high = jnp.full((1,), self.low, dtype), jnp.full((1,), self.high, dtype)
        at_low, at_high = self.function(low)[0], self.function(high)[0]
        nearer = jnp.abs(at_low) <= jnp.abs(at_high)
        x, value = jnp.where(nearer, low, high), jnp.where(nearer, at_low, at_high)
        same = jnp.sign(at_low) * jnp.sign(at_high) > 0
        outcome = jnp.where(same, Outcome.NO_SIGN_CHANGE, Outcome.RUNNING)
        outcome = jnp.where(value == 0, Outcome.ROOT, outcome)
        bad = jnp.isnan(at_low) | jnp.isnan(at_high)
        outcome = jnp.where(bad, Outcome.START, outcome).astype(jnp.int32)
        count = jnp.zeros((), jnp.int32)
        size = jnp.minimum(jnp.abs(at_low), jnp.abs(at_high))
        return Bracket(low, high, at_low, x, value, size, count, count + 2, outcome)

    def step(self, state: Bracket) -> Bracket:
        """Keep the half where the sign changes."""
        middle = 0.5 * state.low + 0.5 * state.high
        value = self.function(middle)[0]
        right = jnp.sign(value) == jnp.sign(state.low_value)
        low = jnp.where(right, middle, state.low)
        high = jnp.where(right, state.high, middle)
        better = jnp.abs(value) <= jnp.abs(state.value)
        x, best = jnp.where(better, middle, state.x), jnp.where(better, value, state.value)
        closed = (middle[0] == state.low[0]) | (middle[0] == state.high[0])
        shrunk = jnp.abs(best) <= SHRUNK * state.size
        outcome = jnp.where(closed, jnp.where(shrunk, Outcome.ROOT, Outcome.POLE), 0)
        outcome = jnp.where(value == 0, Outcome.ROOT, outcome)
        outcome = jnp.where(jnp.isnan(value), Outcome.NOT_FINITE, outcome).astype(jnp.int32)
        return Bracket(
            low, high, jnp.where(right, value, state.low_value), x, best, state.size,
            state.iteration + 1, state.evaluations + 1, outcome,
        )  # fmt: skip

    def done(self, state: Bracket) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Bracket) -> dict[str, Any]:
        """Iteration, value, the width of the bracket, and the best point."""
        width = state.high[0] - state.low[0]
        return {
            "iteration": state.iteration,
            "residual": jnp.abs(state.value),
            "width": width,
            **shown(state.x),
        }

    def finish(self, state: Bracket) -> dict[str, Any]:
        """The point of least value."""
        return answer(self.unknowns, state.x, state.value[None], state, state.outcome)
