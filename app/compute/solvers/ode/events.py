"""Events of an integration: the first time within a step at which g(t, y) changes its sign.

g is looked at in samples. Where it comes near to zero and goes away again between two of them,
the turning point is found and looked at as well: g may change its sign twice between samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.ode.steps import Slope, Stepper

SAMPLES = 16
"""Parts of a step at whose ends the event is looked at."""
SHARPEN = 60
"""Halvings that find an event or a turning point between two samples."""


class Found(NamedTuple):
    """Whether the event happened in the step, and where it ends: there, or at its own end."""

    happened: Any
    t: Any
    y: Any


@dataclass(frozen=True)
class Event:
    """``g`` of (t, y) is a number; y a flat vector."""

    g: Callable[[Any, Any], Any]

    def search(
        self, stepper: Stepper, ends: tuple[Any, Any], states: tuple[Any, Any], dense: Any, was: Any
    ) -> Found:
        """Look through a step that was taken; ``was`` is the last g that was not zero."""
        (t, following), (y, end) = ends, states

        def along(at: Any) -> Any:
            return self.g(at, stepper.between(t, following, dense, at))

        times = t + (following - t) * jnp.linspace(0.0, 1.0, SAMPLES + 1, dtype=t.dtype)
        values = jax.vmap(along)(times[1:-1])
        values = jnp.concatenate([values, self.g(following, end)[None]])
        turns = self._turns(along, times, was)
        crossed = _changed(values, was)
        turned = _changed(jax.vmap(along)(turns), was) & (turns > times[:-1])
        at = jnp.argmax(crossed | turned)
        high = jnp.where(turned[at], turns[at], times[1:][at])
        happened = jnp.any(crossed | turned)

        def halve(_: Any, found: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            low, high, there = found
            middle = 0.5 * (low + high)
            reached = stepper.step(t, middle, y, Slope.unknown(y))[0].y
            before = jnp.sign(self.g(middle, reached)) == jnp.sign(was)
            there = jnp.where(before, there, reached)
            return jnp.where(before, middle, low), jnp.where(before, high, middle), there

        def locate() -> tuple[Any, Any]:
            start = (times[:-1][at], high, stepper.between(t, following, dense, high))
            return jax.lax.fori_loop(0, SHARPEN, halve, start)[1:]

        t, y = jax.lax.cond(happened, locate, lambda: (following, end))
        return Found(happened, t, y)

    def _turns(self, along: Callable[[Any], Any], times: Any, was: Any) -> Any:
        """Where g turns away from zero in each part of a step; the part's start where nowhere."""

        def slope(at: Any) -> Any:
            return jnp.sign(was) * jax.jvp(along, (at,), (jnp.ones_like(at),))[1]

        slopes = jax.vmap(slope)(times)
        turning = (slopes[:-1] < 0) & (slopes[1:] > 0)

        def halve(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            count, low, high = carry
            middle = 0.5 * (low + high)
            falling = jax.vmap(slope)(middle) < 0
            return count + 1, jnp.where(falling, middle, low), jnp.where(falling, high, middle)

        # Counted from the end where nothing turns, so that no search is made for nothing.
        count = jnp.where(jnp.any(turning), 0, SHARPEN)
        start = (count, times[:-1], times[1:])
        _, low, high = jax.lax.while_loop(lambda carry: carry[0] < SHARPEN, halve, start)
        return jnp.where(turning, 0.5 * (low + high), times[:-1])


def _changed(values: Any, was: Any) -> Any:
    return (jnp.sign(values) * jnp.sign(was) < 0) | ((values == 0) & (was != 0))
