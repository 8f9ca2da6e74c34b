"""``minimize`` without derivatives: Nelder and Mead's simplex, for functions that have none.

With the coefficients of Gao and Han, Comput. Optim. Appl. 51 (2012), which depend on the number of
unknowns, and a fresh simplex where the old one has collapsed before values agree. Bounds are kept
by moving every vertex into the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.box import Box
from app.compute.solvers.minimize import stillness
from app.compute.solvers.minimize.newton import Point
from app.compute.solvers.outcomes import Outcome

EDGE = 0.05
"""First edges over the size of each unknown at the start."""
LEAST_EDGE = 0.00025
"""First edges of unknowns that start at zero."""


class Simplex(NamedTuple):
    """Vertices (n + 1, n), the best first, and their values; the best one as a point.

    The point has no gradient: it is never taken. ``width`` and ``height``: the longest edge and
    the widest spread of values so far, beside which those at the end are small.
    """

    point: Point
    vertices: Any
    values: Any
    width: Any
    height: Any


@dataclass(frozen=True)
class NelderMead:
    """Minimise ``value(x, extra)`` over a box. ``tolerance``: of vertices and of values, relative
    to their size, or to 1 or to what was seen on the way if that is less."""

    value: Callable[[Any, Any], Any]
    box: Box
    tolerance: float

    def start(self, x: Any, extra: Any) -> Simplex:
        """A simplex at the start, inside the box."""
        x = self.box.project(x)
        edges = jnp.where(x != 0, EDGE * x, LEAST_EDGE)
        # Where an edge would leave the box, it goes the other way.
        ahead = self.box.project(x + edges) - x
        edges = jnp.where(jnp.abs(ahead) >= 0.5 * jnp.abs(edges), ahead, -edges)
        corners = self.box.project(x + jnp.diag(edges))
        vertices = jnp.concatenate([x[None], corners])
        values = self._valued(vertices, extra)
        zero = jnp.zeros((), jnp.int32)
        outcome = jnp.where(jnp.isfinite(values[0]), Outcome.RUNNING, Outcome.START)
        outcome = outcome.astype(jnp.int32)
        level = stillness.level(x, values[0], 0.0)
        point = Point(x, values[0], None, zero, zero + len(vertices), outcome, None, level)
        nothing = jnp.zeros_like(values[0])
        return _sorted(Simplex(point, vertices, values, nothing, nothing))

    def step(self, state: Simplex, extra: Any) -> Simplex:
        """Reflect, expand, contract or shrink."""
        n = state.point.x.size
        best, worst, second = state.values[0], state.values[-1], state.values[-2]
        centre = jnp.mean(state.vertices[:-1], axis=0)
        away = centre - state.vertices[-1]
        grow, cut, shrink = 1 + 2 / max(n, 2), 0.75 - 0.5 / max(n, 2), 1 - 1 / max(n, 2)
        at = self.box.project(centre + away)
        reflected = self._at(at, extra)
        # A second trial: further out, or back in on the better side.
        inside = jnp.where(reflected < worst, cut, -cut)
        factor = jnp.where(reflected < best, grow, inside)
        trial = self.box.project(centre + factor * away)
        tried = self._at(trial, extra)
        plain = (reflected >= best) & (reflected < second)
        limit = jnp.where(reflected < best, reflected, jnp.minimum(reflected, worst))
        second_best = ~plain & (tried < limit)
        first_best = plain | ((reflected < best) & ~second_best)
        new = jnp.where(second_best, trial, at)
        value = jnp.where(second_best, tried, reflected)
        replaced = state.vertices.at[-1].set(new), state.values.at[-1].set(value)

        def shrunk() -> tuple[Any, Any]:
            vertices = state.vertices[0] + shrink * (state.vertices - state.vertices[0])
            return vertices, self._valued(vertices, extra).at[0].set(best)

        keep = first_best | second_best
        vertices, values = jax.lax.cond(keep, lambda: replaced, shrunk)
        cost = jnp.where(plain, 1, 2) + jnp.where(keep, 0, n)
        old = state.point
        point = old._replace(iteration=old.iteration + 1, evaluations=old.evaluations + cost)
        new = state._replace(point=point, vertices=vertices, values=values)
        return self._told(_sorted(new))

    def _told(self, state: Simplex) -> Simplex:
        x, value = state.point.x, state.point.value
        edge, spread = _extent(state)
        size, eps = jnp.max(jnp.abs(x)), jnp.finfo(x.dtype).eps
        allowed = jnp.maximum(self.tolerance, 4 * eps)
        small = edge <= allowed * jnp.maximum(size, jnp.minimum(1.0, state.width))
        alike = spread <= allowed * jnp.maximum(jnp.abs(value), jnp.minimum(1.0, state.height))
        found = jnp.where(state.height > 16 * eps * jnp.abs(value), Outcome.SIMPLEX, Outcome.FLAT)
        outcome = jnp.where(small & alike, found, Outcome.RUNNING)
        outcome = jnp.where((edge <= 4 * eps * size) & ~alike, Outcome.STALLED, outcome)
        low = stillness.endless(value, jnp.inf, state.point.level)
        outcome = jnp.where(low, Outcome.UNBOUNDED, outcome).astype(jnp.int32)
        return state._replace(point=state.point._replace(outcome=outcome))

    def _valued(self, vertices: Any, extra: Any) -> Any:
        return jax.lax.map(lambda x: self._at(x, extra), vertices)

    def _at(self, x: Any, extra: Any) -> Any:
        """The value, infinite where it is not a number: such vertices are left again."""
        value = self.value(x, extra)
        return jnp.where(jnp.isnan(value), jnp.inf, value)


def _sorted(state: Simplex) -> Simplex:
    """The best vertex first, and the extent of the simplex remembered."""
    order = jnp.argsort(state.values, stable=True)
    vertices, values = state.vertices[order], state.values[order]
    best = state.point._replace(x=vertices[0], value=values[0])
    new = state._replace(point=best, vertices=vertices, values=values)
    edge, spread = _extent(new)
    seen = jnp.where(jnp.isfinite(spread), spread, 0.0)
    return new._replace(
        width=jnp.maximum(state.width, edge), height=jnp.maximum(state.height, seen)
    )


def _extent(state: Simplex) -> tuple[Any, Any]:
    """The longest way from the best vertex, and the widest difference of values to its."""
    edges = jnp.abs(state.vertices[1:] - state.vertices[0])
    return jnp.max(edges), jnp.max(jnp.abs(state.values[1:] - state.values[0]))
