"""The Hessian as a matrix, for few unknowns: exact trust-region steps in its eigenbasis.

Unknowns held by a bound are taken out; a step that leaves the box is pinned to it and the rest
solved again; a projected gradient step is the fallback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.solvers import trust_region
from app.compute.solvers.box import Box
from app.compute.solvers.minimize.newton import Point, all_finite
from app.compute.solvers.trust_region import Quadratic

PINNINGS = 3
"""How often a step is solved again with the unknowns it drove out of the box pinned."""


@dataclass(frozen=True)
class DenseModel:
    """A quadratic model with ``hessian`` (n, n), and square roots of its diagonal (n,)."""

    hessian: Any
    scale: Any

    @classmethod
    def of(cls, function: Callable[[Any], Any], x: Any) -> DenseModel:
        """At ``x``; the identity where second derivatives are not finite.

        Linearised, which a function with a reverse rule of its own allows; jacfwd does not.
        """
        _, product = jax.linearize(jax.grad(function), x)
        hessian = jax.vmap(product, out_axes=1)(jnp.eye(x.size, dtype=x.dtype))
        hessian = jnp.where(all_finite(hessian), hessian, jnp.eye(x.size))
        return cls(hessian, scale_of(jnp.diagonal(hessian)))

    def along(self, s: Any) -> Any:
        """s.H.s"""
        return s @ (self.hessian @ s)

    def step(self, point: Point, radius: Any, box: Box) -> Any:
        """The step with the least model value found."""
        return propose(point, self.hessian, self.scale, radius, box)


def scale_of(diagonal: Any) -> Any:
    """Square roots of a Hessian's diagonal's sizes: units of the unknowns; 1 for none."""
    diagonal = jnp.abs(diagonal)
    largest = jnp.max(diagonal, initial=0.0)
    seen = diagonal > largest * jnp.finfo(diagonal.dtype).eps ** 1.5
    return jnp.sqrt(jnp.where(seen & (diagonal > 0), diagonal, 1.0))


def propose(point: Point, hessian: Any, scale: Any, radius: Any, box: Box) -> Any:
    """A step inside the region and the box with the least model value found."""
    free = box.free(point.x, point.gradient)
    zero = jnp.zeros_like(point.x)
    if not box.bounded:
        return region_step(point.gradient, hessian, free, scale, radius)

    def again(_: Any, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        free, fixed, _ = carry
        s = fixed + region_step(point.gradient + hessian @ fixed, hessian, free, scale, radius)
        moved = box.project(point.x + s) - point.x
        out = free & (moved != s)
        return free & ~out, jnp.where(out, moved, fixed), moved

    _, _, newton = jax.lax.fori_loop(0, PINNINGS + 1, again, (free, zero, zero))
    return best_of(newton, point, hessian, scale, radius, box)


def best_of(newton: Any, point: Point, hessian: Any, scale: Any, radius: Any, box: Box) -> Any:
    """The Newton step, or a projected scaled gradient step where the model prefers one."""
    slope = point.gradient / scale
    longest = radius / jnp.maximum(jnp.linalg.norm(slope), jnp.finfo(slope.dtype).tiny)
    lengths = longest * 0.5 ** jnp.arange(0, 40, 2, dtype=slope.dtype)
    paths = box.project(point.x - lengths[:, None] * (slope / scale)) - point.x
    steps = jnp.concatenate([newton[None], paths])
    models = steps @ point.gradient + 0.5 * jnp.sum(steps * (steps @ hessian), 1)
    models = jnp.where(jnp.isfinite(models), models, jnp.inf)
    return steps[jnp.argmin(models)]


def region_step(gradient: Any, hessian: Any, free: Any, scale: Any, radius: Any) -> Any:
    """The trust-region step over the free unknowns, zero in the others."""
    scaled = hessian / (scale[:, None] * scale[None, :])
    both = free[:, None] & free[None, :]
    matrix = jnp.where(both, scaled, jnp.diag(jnp.where(free, 0.0, 1.0)))
    eigenvalues, basis = jnp.linalg.eigh(matrix)
    slopes = basis.T @ jnp.where(free, gradient / scale, 0.0)
    p = basis @ trust_region.solve(Quadratic(eigenvalues, slopes), radius)
    return jnp.where(free, p / scale, 0.0)
