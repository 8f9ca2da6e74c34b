"""A line search for the Wolfe conditions by bracketing, along a path bent by the box.

Lewis and Overton, "Nonsmooth optimization via quasi-Newton methods", Math. Program. 141 (2013):
every trial halves or doubles one bracket, so it ends also where the function has kinks or leaves
its domain; interpolation only chooses the point inside the bracket. Below the rounding of the
value slopes decide instead (Hager and Zhang, SIAM J. Optim. 16 (2005), "approximate Wolfe").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.box import Box

DECREASE = 1e-4
TRIALS = 40


class Trial(NamedTuple):
    """A point on the path: its length along the direction, value, gradient and slope."""

    length: Any
    x: Any
    value: Any
    gradient: Any
    slope: Any


class Search(NamedTuple):
    """The bracket, the trial in hand, and the best one that decreases the value enough.

    ``found``: there is such a one; ``done``: it meets the Wolfe conditions.
    """

    low: Any
    low_value: Any
    low_slope: Any
    high: Any
    trial: Trial
    best: Trial
    found: Any
    done: Any
    evaluations: Any


def search(
    function: Callable[[Any], tuple[Any, Any]],
    box: Box,
    start: Trial,
    direction: Any,
    first: Any,
    *,
    curvature: float,
    strong: bool,
) -> Search:
    """Search from ``start`` (length 0), first at ``first``; ``found`` is whether it decreased.

    ``function`` gives value and gradient. ``strong`` also bounds positive slopes.
    """

    def at(length: Any) -> Trial:
        wanted = start.x + length * direction
        x = box.project(wanted)
        value, gradient = function(x)
        slope = jnp.sum(jnp.where(x == wanted, direction * gradient, 0.0))
        return Trial(length, x, value, gradient, slope)

    def body(s: Search) -> Search:
        return _narrow(s, start, at(_next(s, first)), curvature, strong)

    zero = jnp.zeros_like(start.value)
    false = jnp.zeros((), bool)
    begin = Search(
        zero, start.value, start.slope, zero + jnp.inf, start, start, false, false,
        jnp.zeros((), jnp.int32),
    )  # fmt: skip

    def more(s: Search) -> Any:
        near = s.trial.length < jnp.finfo(zero.dtype).max ** 0.5
        return ~s.done & (s.evaluations < TRIALS) & (s.high > s.low) & near

    return jax.lax.while_loop(more, body, begin)


def _narrow(s: Search, start: Trial, t: Trial, curvature: float, strong: bool) -> Search:
    """Judge one trial and move the end of the bracket that it rules out."""
    finite = jnp.isfinite(t.value) & jnp.all(jnp.isfinite(t.gradient))
    moved = jnp.sum(start.gradient * (t.x - start.x))
    promised = jnp.minimum(moved, 0.0) * DECREASE
    noise = 8 * jnp.finfo(t.value.dtype).eps * jnp.abs(start.value)
    level = (t.value <= start.value + noise) & (t.slope <= (2 * DECREASE - 1) * start.slope)
    clear = t.value <= start.value + promised
    enough = finite & (clear | (level & (noise > -promised)))
    too_steep = t.slope < curvature * start.slope
    too_far = strong & (t.slope > -curvature * start.slope)
    done = enough & ~too_steep & ~too_far
    below = enough & too_steep
    better = enough & ((t.value < s.best.value) | ~s.found)
    best = jax.tree.map(lambda new, old: jnp.where(better | done, new, old), t, s.best)
    return Search(
        jnp.where(below, t.length, s.low),
        jnp.where(below, t.value, s.low_value),
        jnp.where(below, t.slope, s.low_slope),
        jnp.where(below | done, s.high, t.length),
        t,
        best,
        s.found | enough,
        done,
        s.evaluations + 1,
    )


def _next(s: Search, first: Any) -> Any:
    """Where to try next: first, then outwards, then inside the bracket."""
    t = s.trial
    width = s.high - s.low
    away = t.length - s.low
    rise = t.value - s.low_value - s.low_slope * away
    quadratic = s.low - 0.5 * s.low_slope * away**2 / rise
    secant = s.low - s.low_slope * away / (t.slope - s.low_slope)
    guess = jnp.where(t.value > s.low_value, quadratic, secant)
    inner = jnp.clip(guess, s.low + 0.1 * width, s.high - 0.1 * width)
    # Alternate with halving, so that the bracket always shrinks by a known factor.
    use = jnp.isfinite(inner) & jnp.isfinite(t.value) & (s.evaluations % 3 != 0)
    middle = jnp.where(jnp.isfinite(t.value), 0.5, 0.1)
    inside = jnp.where(use, inner, s.low + middle * width)
    outside = jnp.maximum(first, 2.0 * s.low) * jnp.where(s.evaluations > 6, 4.0, 1.0)
    following = jnp.where(jnp.isfinite(s.high), inside, outside)
    return jnp.where(s.evaluations == 0, first, following)
