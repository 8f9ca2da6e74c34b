"""Newton's method in a trust region, with bounds: the default for few unknowns.

Second derivatives are exact, and come as a model that knows how to step in a region: dense, or
by products alone. The region is an ellipsoid scaled by the model, so that the units of the
unknowns do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from app.compute.solvers import trust_region
from app.compute.solvers.box import Box
from app.compute.solvers.minimize import stillness
from app.compute.solvers.outcomes import Outcome


class Point(NamedTuple):
    """Where a minimiser is, and what it has cost.

    ``steepest``: the largest entry of all (projected) gradients so far; None without gradients.
    ``level``: the size of values at the start.
    """

    x: Any
    value: Any
    gradient: Any
    iteration: Any
    evaluations: Any
    outcome: Any
    steepest: Any
    level: Any

    @classmethod
    def start(cls, value: Callable[[Any], Any], box: Box, x: Any) -> Point:
        """Evaluated at a start, moved into the box; its outcome tells whether it is finite."""
        x = box.project(x)
        here, gradient = jax.value_and_grad(value)(x)
        steepest = box.stationarity(x, gradient)
        finite = all_finite(here, gradient)
        outcome = jnp.where(finite, Outcome.RUNNING, Outcome.START).astype(jnp.int32)
        zero, level = jnp.zeros((), jnp.int32), stillness.level(x, here, steepest)
        return cls(x, here, gradient, zero, zero + 1, outcome, steepest, level)


class NewtonState(NamedTuple):
    """``radius`` is measured in the scaled norm; 0 until the first step has chosen one."""

    point: Point
    radius: Any


class Model(Protocol):
    """The second derivatives at a point; ``scale`` (n,): units of the unknowns."""

    @property
    def scale(self) -> Any: ...

    def step(self, point: Point, radius: Any, box: Box) -> Any:
        """A step inside the region and the box with a low value of the quadratic model."""
        ...

    def along(self, s: Any) -> Any:
        """s.H.s"""
        ...


@dataclass(frozen=True)
class Newton:
    """Minimise ``value(x, extra)`` over a box. ``extra`` is constant within one solve.

    ``curvature`` makes the model of a function at a point.
    """

    value: Callable[[Any, Any], Any]
    box: Box
    tolerance: float
    curvature: Callable[[Callable[[Any], Any], Any], Model]

    def start(self, x: Any, extra: Any) -> NewtonState:
        """Evaluate at the start, moved into the box."""
        point = Point.start(lambda x: self.value(x, extra), self.box, x)
        return NewtonState(point, jnp.zeros_like(point.value))

    def step(self, state: NewtonState, extra: Any) -> NewtonState:
        """Try one step; take it where it decreases the value as the model says."""
        point = state.point
        model = self.curvature(lambda x: self.value(x, extra), point.x)
        first = first_radius(point.x, point.gradient, model.scale)
        radius = jnp.where(state.radius > 0, state.radius, first)
        s = model.step(point, radius, self.box)
        predicted = -(point.gradient @ s + 0.5 * model.along(s))
        x = self.box.project(point.x + s)
        value, gradient = jax.value_and_grad(self.value)(x, extra)
        state = NewtonState(point, radius)
        return self._judge(state, s, predicted, x, value, gradient, model.scale)

    def _judge(
        self,
        state: NewtonState,
        s: Any,
        predicted: Any,
        x: Any,
        value: Any,
        gradient: Any,
        scale: Any,
    ) -> NewtonState:
        old = state.point
        noise = 16 * jnp.finfo(x.dtype).eps * jnp.abs(old.value)
        length = jnp.linalg.norm(scale * s)
        actual = old.value - value
        ratio = actual / jnp.where(predicted > 0, predicted, jnp.inf)
        # Below the rounding of the value only the gradient can tell which point is better.
        flat = (predicted <= noise) & (jnp.abs(actual) <= noise)
        calmer = self.box.stationarity(x, gradient) < self.box.stationarity(old.x, old.gradient)
        better = jnp.where(flat, calmer, (ratio > trust_region.ACCEPT) & (actual > 0))
        taken = better & all_finite(value, gradient)
        ratio = jnp.where(flat & taken, 1.0, ratio)
        ratio = jnp.where(all_finite(value, gradient), ratio, jnp.nan)
        radius = trust_region.resized(state.radius, ratio, length)
        x, value_, gradient = choose(taken, (x, value, gradient), (old.x, old.value, old.gradient))
        steepest = jnp.maximum(old.steepest, self.box.stationarity(x, gradient))
        new = old._replace(x=x, value=value_, gradient=gradient, steepest=steepest)
        outcome = self._outcome(old, s, predicted, taken, flat, new, value, scale)
        new = new._replace(
            iteration=old.iteration + 1, evaluations=old.evaluations + 1, outcome=outcome
        )
        return NewtonState(new, radius)

    def _outcome(
        self,
        old: Point,
        s: Any,
        predicted: Any,
        taken: Any,
        flat: Any,
        new: Point,
        tried: Any,
        scale: Any,
    ) -> Any:
        """Verified reasons to stop, the strongest last."""
        eps = jnp.finfo(s.dtype).eps
        allowed = self.tolerance * stillness.worth(new.x, new.value, new.steepest)
        slope = self.box.stationarity(new.x, new.gradient)
        small = stillness.small(slope, new.steepest, self.tolerance) & (predicted <= allowed)
        tiny = jnp.all(jnp.abs(s) <= 4 * eps * jnp.abs(new.x) + jnp.finfo(s.dtype).tiny)
        stuck = ~taken & tiny
        # Rounding ends the search first where the gradient promises next to nothing; a step
        # that gains nothing because the region is small proves nothing.
        nearly = self._promised(new, scale) <= allowed
        outcome = jnp.where(stuck, Outcome.STALLED, Outcome.RUNNING)
        outcome = jnp.where((stuck | (flat & ~taken)) & nearly, Outcome.PRECISION, outcome)
        outcome = jnp.where(small, Outcome.GRADIENT, outcome)
        low = stillness.endless(tried, old.value, old.level)
        return jnp.where(low, Outcome.UNBOUNDED, outcome).astype(jnp.int32)

    def _promised(self, point: Point, scale: Any) -> Any:
        """What the gradient promises by the units of the unknowns; by their size without units."""
        free = self.box.free(point.x, point.gradient)
        slope = jnp.where(free, jnp.abs(point.gradient), 0.0)
        least = jnp.finfo(slope.dtype).eps ** 0.5 * stillness.reach(point.x)
        bare = slope * jnp.maximum(jnp.abs(point.x), least)
        return jnp.sum(jnp.where(scale == 1, bare, 0.5 * (slope / scale) ** 2))


def first_radius(x: Any, gradient: Any, scale: Any) -> Any:
    """A tenth of the start's own size; wide first steps can land where nothing leads back.

    From 0.03 to 0.3 the published problems end alike, from random starts too; from 1 on fewer end
    at their lowest minimum.
    """
    size, slope = jnp.linalg.norm(scale * x), jnp.linalg.norm(gradient / scale)
    radius = jnp.where(size > 0, 0.1 * size, slope)
    return jnp.where((radius > 0) & jnp.isfinite(radius), radius, 1.0)


def all_finite(*values: Any) -> Any:
    """Whether every entry of every array is finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(value)) for value in values]))


def choose(condition: Any, new: Any, old: Any) -> Any:
    """One of two trees of arrays."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
