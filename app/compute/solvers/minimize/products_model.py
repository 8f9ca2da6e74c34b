"""The Hessian by its products with vectors, for many unknowns: truncated conjugate gradients.

Steihaug, SIAM J. Numer. Anal. 20 (1983): conjugate gradients until the region's edge, negative
curvature or a residual small enough; Nocedal and Wright, algorithm 7.2. Products come from the
function (one more gradient each) or from a sparse Hessian, whose diagonal then scales the region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.box import Box
from app.compute.solvers.minimize.dense_model import scale_of
from app.compute.solvers.minimize.newton import Point
from app.sparse.jacobian import Plan
from app.sparse.jacobian import hessian as sparse_hessian
from app.sparse.sparsify.products import diagonal

MOST_PRODUCTS = 500
"""Conjugate gradients are cut off here: with more, rounding has long taken over."""


class Path(NamedTuple):
    """Conjugate gradients within the region, from zero; ``ended`` at its edge, or inside."""

    p: Any
    residual: Any
    direction: Any
    count: Any
    ended: Any


@dataclass(frozen=True)
class ProductsModel:
    """A quadratic model with ``product(v)``, the Hessian times v (n,)."""

    product: Callable[[Any], Any]
    scale: Any

    def along(self, s: Any) -> Any:
        """s.H.s"""
        return s @ self.product(s)

    def step(self, point: Point, radius: Any, box: Box) -> Any:
        """Steihaug's step over the free unknowns, cut off at the box."""
        free = box.free(point.x, point.gradient)

        def scaled(v: Any) -> Any:
            return jnp.where(free, self.product(v / self.scale) / self.scale, 0.0)

        slope = jnp.where(free, point.gradient / self.scale, 0.0)
        s = truncated(scaled, slope, radius) / self.scale
        return box.project(point.x + s) - point.x


def by_function(function: Callable[[Any], Any], x: Any) -> ProductsModel:
    """Products by differentiating the gradient along a vector."""
    _, product = jax.linearize(jax.grad(function), x)
    return ProductsModel(product, jnp.ones_like(x))


def by_colours(plan: Plan) -> Callable[[Callable[[Any], Any], Any], ProductsModel]:
    """Models with the sparse Hessian of a plan: few gradients for all its entries."""

    def model(function: Callable[[Any], Any], x: Any) -> ProductsModel:
        matrix = sparse_hessian(plan, function, x)
        return ProductsModel(matrix.__matmul__, scale_of(diagonal(matrix)))

    return model


def truncated(product: Callable[[Any], Any], slope: Any, radius: Any) -> Any:
    """A low point of slope.p + p.H.p / 2 with |p| <= radius."""
    size = jnp.linalg.norm(slope)
    # Superlinear, yet far from the solution no more exact than the model is.
    enough = size * jnp.minimum(0.1, jnp.sqrt(size))

    def more(path: Path) -> Any:
        left = path.count < min(MOST_PRODUCTS, 2 * slope.size)
        return ~path.ended & left & (jnp.linalg.norm(path.residual) > enough)

    start = Path(
        jnp.zeros_like(slope), slope, -slope, jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    )
    return jax.lax.while_loop(more, lambda path: _onwards(path, product, radius), start).p


def _onwards(path: Path, product: Callable[[Any], Any], radius: Any) -> Path:
    d = path.direction
    along = product(d)
    curvature = d @ along
    squared = path.residual @ path.residual
    usable = (curvature > 0) & jnp.isfinite(curvature)
    length = squared / jnp.where(usable, curvature, 1.0)
    p = path.p + length * d
    leaves = ~usable | (jnp.linalg.norm(p) >= radius)
    # To the edge: the positive root of |p + t d| = radius.
    a, b, c = d @ d, path.p @ d, path.p @ path.p - radius**2
    edge = (jnp.sqrt(jnp.maximum(b * b - a * c, 0.0)) - b) / jnp.where(a > 0, a, 1.0)
    edge = jnp.where(jnp.isfinite(edge), edge, 0.0)
    residual = path.residual + length * along
    beta = residual @ residual / jnp.where(squared > 0, squared, 1.0)
    return Path(
        jnp.where(leaves, path.p + edge * d, p),
        residual,
        beta * d - residual,
        path.count + 1,
        leaves,
    )
