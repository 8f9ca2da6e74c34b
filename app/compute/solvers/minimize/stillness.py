"""When a minimiser may rest, or falls without end: measured by what the problem itself shows.

Bare numbers say nothing: 1e-12 x is as steep as x in other units. A gradient is small beside the
steepest one seen, a value beside its own size or what that gradient is worth at the size of x.
Neither is asked to be less than its tolerance itself, so that usual scales are judged as usual.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def reach(x: Any) -> Any:
    """The size of a point: its largest entry, or 1 at the origin."""
    size = jnp.max(jnp.abs(x), initial=0.0)
    return jnp.where(size > 0, size, 1.0)


def worth(x: Any, value: Any, steepest: Any) -> Any:
    """What changes of the value are measured in."""
    return jnp.maximum(jnp.abs(value), jnp.minimum(1.0, steepest * reach(x)))


def level(x: Any, value: Any, steepest: Any) -> Any:
    """The size of values at a start, 1 at least: what a fall without end is measured in."""
    size = jnp.maximum(jnp.abs(value), jnp.asarray(steepest) * reach(x))
    return jnp.maximum(1.0, jnp.where(jnp.isfinite(size), size, 1.0)).astype(value.dtype)


def endless(value: Any, before: Any, level: Any) -> Any:
    """Whether a value is so far below those at the start that no minimum is to be expected."""
    most = float(jnp.finfo(value.dtype).max)
    fall = most ** (0.2 if value.dtype == jnp.float64 else 0.4)
    return (value < -jnp.minimum(fall * level, most**0.75)) & (value < before)


def small(slope: Any, steepest: Any, tolerance: float) -> Any:
    """Whether a gradient's largest entry is within tolerance, also beside the steepest seen."""
    return slope <= tolerance * jnp.minimum(1.0, steepest)


def spent(x: Any, value: Any, slope: Any, steepest: Any, tolerance: float) -> Any:
    """Whether a search that found nothing lower has only rounding left to gain.

    The value rounds off where x moves by the root of the precision; values near 0 keep more
    digits than the terms they are made of, so a gradient within tolerance may be larger there.
    """
    eps = jnp.finfo(x.dtype).eps
    allowed = jnp.where(slope <= tolerance, eps**0.25, 10 * eps**0.5)
    return slope * reach(x) <= allowed * worth(x, value, steepest)
