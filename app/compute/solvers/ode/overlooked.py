"""What a step jumped over: a pulse of the right side in time that none of its stages saw.

Adaptive steps that grew long on a quiet stretch pass a narrow pulse with full confidence. So the
right side is looked at along the solution on a fine grid of times, the same over the whole
integration, and what it adds up to is held against what the step gained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

MOST_POINTS, FEWEST_POINTS = 4096, 64
WORK = 1 << 20
"""Points of the grid times entries of y, at most."""
SHORT = 4
"""Steps of no more parts than these see for themselves."""
APART = 100.0
"""How many tolerances a step may differ from what the grid adds up to."""


def points(size: int) -> int:
    """Parts of the grid over the whole integration of ``size`` unknowns."""
    return max(FEWEST_POINTS, min(MOST_POINTS, WORK // size))


def overlooked(
    f: Callable[[Any, Any], Any],
    between: Callable[[Any], Any],
    ends: tuple[Any, Any],
    part: Any,
    gained: Any,
    scale: Any,
) -> Any:
    """Whether a step differs from the sum of Simpson's rule on parts of the size ``part``."""
    t, following = ends
    pairs = jnp.ceil((following - t) / (2.0 * part)).astype(jnp.int32)
    pairs = jnp.where(2 * pairs > SHORT, pairs, 0)
    width = (following - t) / jnp.maximum(2 * pairs, 1).astype(part.dtype)

    def add(place: Any, total: Any) -> Any:
        at = t + place.astype(part.dtype) * width
        inner = jnp.where(place % 2 == 1, 4.0, 2.0)
        weight = jnp.where((place == 0) | (place == 2 * pairs), 1.0, inner)
        return total + weight.astype(part.dtype) * f(at, between(at))

    count = jnp.where(pairs > 0, 2 * pairs + 1, 0)
    total = jax.lax.fori_loop(0, count, add, jnp.zeros_like(gained)) * width / 3.0
    apart = jnp.sqrt(jnp.mean(((total - gained) / scale) ** 2))
    return (pairs > 0) & (apart > APART)
