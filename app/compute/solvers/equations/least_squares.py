"""``least_squares``: Levenberg-Marquardt, Gauss-Newton and dogleg steps in a trust region.

The region is scaled by the largest column norms of the Jacobian seen so far, as in MINPACK
(Moré, "The Levenberg-Marquardt algorithm", Lecture Notes in Math. 630 (1978)); the subproblem is
solved in the singular basis of the scaled Jacobian, so that its condition is never squared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers import trust_region
from app.compute.solvers.box import Box
from app.compute.solvers.jacobian import jacobian as jacobian_of
from app.compute.solvers.minimize.newton import all_finite, choose
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.trust_region import Quadratic

FACTOR = 3.0
"""First radius over the scaled size of the start: a few times as far as the start is from zero.

From 1 to MINPACK's 100 the same published problems are solved, from random starts too; below 1
Box's three-dimensional one ends in a flat tail.
"""


class Fit(NamedTuple):
    """Where the iteration is, with the residuals (m,) there, and what it has cost.

    Residuals are in ``unit``, their size at the start as a power of two: their squares neither
    overflow nor vanish.
    """

    x: Any
    residuals: Any
    unit: Any
    scale: Any
    radius: Any
    slope: Any
    iteration: Any
    evaluations: Any
    outcome: Any

    @property
    def values(self) -> Any:
        """The residuals as the function has them."""
        return self.residuals * self.unit


@dataclass(frozen=True)
class LeastSquares:
    """Minimise the sum of squares of ``residuals(x)`` over a box."""

    residuals: Callable[[Any], Any]
    box: Box
    method: str
    tolerance: float
    max_steps: int

    def start(self, x: Any) -> Fit:
        """Evaluate at the start, moved into the box."""
        x = self.box.project(x)
        residuals = self.residuals(x)
        unit = _unit(residuals)
        zero, real = jnp.zeros((), jnp.int32), jnp.zeros((), x.dtype)
        finite = all_finite(residuals)
        outcome = jnp.where(finite, Outcome.RUNNING, Outcome.START).astype(jnp.int32)
        none = jnp.zeros_like(x)
        return Fit(x, residuals / unit, unit, none, real, real, zero, zero + 1, outcome)

    def step(self, fit: Fit) -> Fit:
        """Try one step; take it where the squares decrease as the linear model says."""
        jacobian = jacobian_of(self.residuals, fit.x) / fit.unit
        usable = all_finite(jacobian)
        jacobian = jnp.where(usable, jacobian, 0.0)
        columns = jnp.linalg.norm(jacobian, axis=0)
        scale = jnp.maximum(fit.scale, columns)
        scale = jnp.where(scale > 0, scale, 1.0)
        radius = jnp.where(fit.radius > 0, fit.radius, _first_radius(fit, scale))
        gradient = jacobian.T @ fit.residuals
        s = self._propose(fit, jacobian, gradient, scale, radius)
        x = self.box.project(fit.x + s)
        residuals = self.residuals(x) / fit.unit
        return self._judge(fit, usable, jacobian, gradient, scale, radius, x, residuals)

    def _propose(self, fit: Fit, jacobian: Any, gradient: Any, scale: Any, radius: Any) -> Any:
        """The region's step over the free unknowns; bounds pin what leaves the box."""
        free = self.box.free(fit.x, gradient)
        fixed = jnp.zeros_like(fit.x)

        def solve(free: Any, fixed: Any) -> Any:
            matrix = jnp.where(free, jacobian / scale, 0.0)
            left, singular, basis = jnp.linalg.svd(matrix, full_matrices=False)
            target = left.T @ (fit.residuals + jacobian @ fixed)
            p = _STEPS[self.method](singular, target, radius, matrix.shape)
            return fixed + jnp.where(free, (basis.T @ p) / scale, 0.0)

        if not self.box.bounded:
            return solve(free, fixed)

        def again(_: Any, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            free, fixed, _ = carry
            s = solve(free, fixed)
            moved = self.box.project(fit.x + s) - fit.x
            out = free & (moved != s)
            return free & ~out, jnp.where(out, moved, fixed), moved

        s = jax.lax.fori_loop(0, 4, again, (free, fixed, fixed))[2]
        slope = jnp.where(free, gradient / scale, 0.0)
        cauchy = -radius * slope / jnp.maximum(jnp.linalg.norm(slope), 1e-300) / scale
        path = self.box.project(fit.x + cauchy) - fit.x
        worse = _model(fit, jacobian, s) > _model(fit, jacobian, path)
        return jnp.where(worse, path, s)

    def _judge(
        self, fit: Fit, usable: Any, jacobian: Any, gradient: Any, scale: Any, radius: Any,
        x: Any, residuals: Any,
    ) -> Fit:  # fmt: skip
        s = x - fit.x
        old, new = fit.residuals @ fit.residuals, residuals @ residuals
        predicted = old - _model(fit, jacobian, s)
        actual = old - new
        finite = all_finite(residuals)
        ratio = jnp.where(finite, actual / jnp.where(predicted > 0, predicted, jnp.inf), jnp.nan)
        taken = finite & (actual > 0) & (ratio > trust_region.ACCEPT)
        length = jnp.linalg.norm(scale * s)
        resized = trust_region.resized(radius, ratio, length)
        cosines = jnp.abs(gradient) / (jnp.linalg.norm(jacobian, axis=0) * jnp.sqrt(old))
        held = ~self.box.free(fit.x, gradient)
        slope = jnp.max(jnp.where(held | ~(cosines < jnp.inf), 0.0, cosines), initial=0.0)
        # What rounding alone makes of the terms that the residuals are sums of.
        dust = 16 * jnp.finfo(x.dtype).eps * jnp.linalg.norm(jnp.abs(jacobian) @ jnp.abs(x))
        outcome = self._outcome(fit, usable, predicted, actual, old, new, s, x, slope, taken, dust)
        kept, residuals = choose(taken, (x, residuals), (fit.x, fit.residuals))
        over = (fit.iteration + 1 >= self.max_steps) & (outcome == Outcome.RUNNING)
        outcome = jnp.where(over, Outcome.LIMIT, outcome).astype(jnp.int32)
        return fit._replace(
            x=kept,
            residuals=residuals,
            scale=scale,
            radius=resized,
            slope=slope,
            iteration=fit.iteration + 1,
            evaluations=fit.evaluations + 1,
            outcome=outcome,
        )

    def _outcome(
        self, fit: Fit, usable: Any, predicted: Any, actual: Any, old: Any, new: Any, s: Any,
        x: Any, slope: Any, taken: Any, dust: Any,
    ) -> Any:  # fmt: skip
        """Verified reasons to stop: MINPACK's tests, carried to the limit of precision."""
        eps = jnp.finfo(x.dtype).eps
        tolerance = max(self.tolerance, 4 * float(eps))
        small = tolerance * jnp.linalg.norm(fit.scale * fit.x)
        short = jnp.linalg.norm(fit.scale * s) <= jnp.where(fit.iteration > 0, small, -1.0)
        gained = (predicted <= tolerance * old) & (jnp.abs(actual) <= tolerance * old)
        spent = predicted <= 10 * eps * old
        stuck = ~taken & jnp.all(jnp.abs(s) <= 4 * eps * jnp.abs(fit.x))
        honest = (slope <= tolerance**0.25) | (predicted <= tolerance**0.5 * old)
        outcome = jnp.where(short & taken & honest, Outcome.STEP, Outcome.RUNNING)
        stopped = jnp.where(honest, Outcome.PRECISION, Outcome.STALLED)
        outcome = jnp.where((short | stuck) & ~taken, stopped, outcome)
        outcome = jnp.where(gained & taken & honest, Outcome.STEP, outcome)
        outcome = jnp.where(spent & ~taken, Outcome.PRECISION, outcome)
        outcome = jnp.where(slope <= tolerance, Outcome.GRADIENT, outcome)
        best = jnp.minimum(jnp.where(jnp.isnan(new), old, new), old)
        zero = (best <= jnp.finfo(x.dtype).tiny) | ((outcome != 0) & (jnp.sqrt(best) <= dust))
        outcome = jnp.where(zero, Outcome.RESIDUAL, outcome)
        return jnp.where(usable, outcome, Outcome.NOT_FINITE)


def _first_radius(fit: Fit, scale: Any) -> Any:
    """A few times the size of the start, and so far at least that residuals change visibly."""
    size = jnp.linalg.norm(scale * fit.x)
    seen = jnp.finfo(size.dtype).eps ** 0.5 * jnp.linalg.norm(fit.residuals)
    return jnp.maximum(FACTOR * jnp.where(size > 0, size, 1.0 / fit.unit), seen)


def _unit(residuals: Any) -> Any:
    """A power of two of the size of the largest; 1 where that is none."""
    size = jnp.max(jnp.abs(residuals), initial=0.0)
    info = jnp.finfo(residuals.dtype)
    size = jnp.clip(size, info.tiny, 0.25 * info.max)
    unit = jax.lax.reduce_precision(size, info.nexp, 0)
    return jnp.where(jnp.any(residuals != 0) & jnp.isfinite(unit), unit, 1.0)


def _model(fit: Fit, jacobian: Any, s: Any) -> Any:
    """The sum of squares that the linear model predicts after step ``s``."""
    linear = fit.residuals + jacobian @ s
    return linear @ linear


def _damped(singular: Any, target: Any, radius: Any, shape: tuple[int, ...]) -> Any:
    """Levenberg-Marquardt: least squares within the region."""
    del shape
    return trust_region.solve(_quadratic(singular, target), radius)


def _undamped(singular: Any, target: Any, radius: Any, shape: tuple[int, ...]) -> Any:
    """Gauss-Newton, shortened to the region."""
    p = _full(singular, target, shape)
    return p * jnp.minimum(1.0, radius / jnp.maximum(jnp.linalg.norm(p), 1e-300))


def _dogleg(singular: Any, target: Any, radius: Any, shape: tuple[int, ...]) -> Any:
    """Powell's dogleg: along the gradient to its minimiser, then towards Gauss-Newton's."""
    newton = _full(singular, target, shape)
    slope = singular * target
    along = slope @ slope / jnp.maximum(jnp.sum((singular * slope) ** 2), 1e-300)
    cauchy = -along * slope
    short = -radius * slope / jnp.maximum(jnp.linalg.norm(slope), 1e-300)
    gap = newton - cauchy
    a, b, c = gap @ gap, cauchy @ gap, cauchy @ cauchy - radius**2
    root = jnp.sqrt(jnp.maximum(b * b - a * c, 0.0))
    leg = cauchy + (root - b) / jnp.where(a > 0, a, 1.0) * gap
    inside = jnp.linalg.norm(newton) <= radius
    return jnp.where(inside, newton, jnp.where(c >= 0, short, leg))


def _full(singular: Any, target: Any, shape: tuple[int, ...]) -> Any:
    floor = jnp.finfo(singular.dtype).eps * max(shape) * jnp.max(singular, initial=0.0)
    return jnp.where(singular > floor, -target / jnp.where(singular > floor, singular, 1.0), 0.0)


def _quadratic(singular: Any, target: Any) -> Quadratic:
    floor = jnp.finfo(singular.dtype).eps * jnp.max(singular, initial=0.0)
    kept = singular > floor
    return Quadratic(jnp.where(kept, singular**2, floor**2), jnp.where(kept, singular * target, 0))


_STEPS = {"levenberg_marquardt": _damped, "gauss_newton": _undamped, "dogleg": _dogleg}
METHODS = tuple(_STEPS)
