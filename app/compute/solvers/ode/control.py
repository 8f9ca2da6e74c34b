"""How large a step of an integration is: the first one, and the next one after each.

Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I", section II.4, and Hairer
and Wanner, "II", section IV.2. Free of any state, so that every kind of loop can use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp


@dataclass(frozen=True)
class Control:
    """Relative and absolute tolerance; ``atol`` is one number, or one for each entry of y."""

    rtol: float
    atol: Any

    def scale(self, *states: Any) -> Any:
        """What an error is measured in, for each entry."""
        size = jnp.abs(states[0])
        for state in states[1:]:
            size = jnp.maximum(size, jnp.abs(state))
        return self.atol + self.rtol * size

    def first(
        self, f: Callable[[Any, Any], Any], order: float, ends: tuple[Any, Any], y: Any
    ) -> Any:
        """A first step from the slopes at the start, two evaluations of f."""
        t0, t1 = ends
        scale, slope = self.scale(y), f(t0, y)
        d0, d1 = rms(y / scale), rms(slope / scale)
        h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 > 0, d1, 1.0))
        bent = (f(t0 + h0, y + h0 * slope) - slope) / scale
        largest = jnp.maximum(d1, rms(bent) / h0)
        h1 = jnp.where(
            largest <= 1e-15,
            jnp.maximum(1e-6, 1e-3 * h0),
            (0.01 / jnp.where(largest > 0, largest, 1.0)) ** (1.0 / order),
        )
        chosen = jnp.minimum(100.0 * h0, h1)
        chosen = jnp.where(jnp.isfinite(chosen) & (chosen > 0), chosen, 1e-6)
        return jnp.minimum(chosen, t1 - t0)


def growth(order: float, error: Any, before: Any, taken: Any, memory: float) -> Any:
    """By what the next step is larger: at most 10 times, at least a tenth; never after failing.

    ``memory`` in [0, 1) is how much the error of the step before counts: 0 follows the last error
    alone, as explicit methods may; a PI controller smooths the noise that stages solved only to a
    tolerance leave in the error of implicit ones.
    """
    safe = jnp.where(error > 0, error, 1e-10)
    wide = 0.9 * safe ** (-(1.0 - 0.75 * memory) / order)
    if memory:
        wide = wide * before ** (memory / order)
    narrow = jnp.clip(0.9 * safe ** (-1.0 / order), 0.1, 0.9)
    narrow = jnp.where(jnp.isfinite(error), narrow, 0.1)
    return jnp.where(taken, jnp.clip(wide, 0.2, 10.0), narrow)


def rms(v: Any) -> Any:
    """The root of the mean square."""
    return jnp.sqrt(jnp.mean(v * v))
