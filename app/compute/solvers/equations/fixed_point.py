"""``fixed_point``: x = g(x), by plain or Anderson-accelerated iteration.

Anderson acceleration as in Walker and Ni, SIAM J. Numer. Anal. 49 (2011), restarted whenever it
makes the residual much worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp

from app.compute.solvers.equations.root import answer
from app.compute.solvers.minimize.newton import all_finite
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.unknowns import Unknowns, shown

MEMORY = 5
METHODS = ("anderson", "plain")


def default_tolerance(dtype: Any) -> float:
    """The largest residual allowed beside the point, where ``tol`` says nothing."""
    return 1e-10 if dtype == jnp.float64 else 1e-5


class Iterate(NamedTuple):
    """The point, its residual g(x) - x, and the last differences of both, (MEMORY, n)."""

    x: Any
    residual: Any
    points: Any
    residuals: Any
    stored: Any
    iteration: Any
    evaluations: Any
    outcome: Any


@dataclass(frozen=True)
class FixedPoint:
    """Iterate ``function`` until a point maps to itself."""

    function: Callable[[Any], Any]
    unknowns: Unknowns
    anderson: bool
    tolerance: float
    max_steps: int

    def init(self) -> Iterate:
        """Map the start."""
        x = self.unknowns.start
        residual = self.function(x) - x
        rows = jnp.zeros((MEMORY, x.size), x.dtype)
        count = jnp.zeros((), jnp.int32)
        outcome = jnp.where(self._still(x, residual), Outcome.FIXED_POINT, Outcome.RUNNING)
        outcome = jnp.where(all_finite(residual), outcome, Outcome.START).astype(jnp.int32)
        return Iterate(x, residual, rows, rows, count, count, count + 1, outcome)

    def step(self, state: Iterate) -> Iterate:
        """The next point, mixed from the last ones."""
        mixed = state.x + state.residual
        if self.anderson:
            live = (jnp.arange(MEMORY) >= MEMORY - state.stored)[:, None]
            changes = jnp.where(live, state.residuals, 0.0)
            weights = jnp.linalg.lstsq(changes.T, state.residual)[0]
            moves = jnp.where(live, state.points + state.residuals, 0.0)
            wise = mixed - weights @ moves
            mixed = jnp.where(all_finite(wise), wise, mixed)
        residual = self.function(mixed) - mixed
        worse = jnp.linalg.norm(residual) > 4.0 * jnp.linalg.norm(state.residual)
        poor = (worse & (state.stored > 0)) | ~all_finite(residual)
        outcome = self._outcome(state, mixed, residual, poor)
        points = jnp.concatenate([state.points[1:], (mixed - state.x)[None]])
        residuals = jnp.concatenate([state.residuals[1:], (residual - state.residual)[None]])
        keep = poor & (state.stored > 0)
        return Iterate(
            jnp.where(keep, state.x, mixed),
            jnp.where(keep, state.residual, residual),
            points,
            residuals,
            jnp.where(poor, 0, jnp.minimum(state.stored + 1, MEMORY)) * int(self.anderson),
            state.iteration + 1,
            state.evaluations + 1,
            outcome,
        )

    def _outcome(self, state: Iterate, x: Any, residual: Any, poor: Any) -> Any:
        over = state.iteration + 1 >= self.max_steps
        outcome = jnp.where(over, Outcome.LIMIT, Outcome.RUNNING)
        outcome = jnp.where(self._still(x, residual), Outcome.FIXED_POINT, outcome)
        lost = ~all_finite(residual) & (state.stored == 0)
        far = jnp.max(jnp.abs(x)) > jnp.finfo(x.dtype).max ** 0.5
        return jnp.where(lost | far, Outcome.DIVERGED, outcome).astype(jnp.int32)

    def _still(self, x: Any, residual: Any) -> Any:
        size = jnp.maximum(jnp.abs(x), jnp.abs(self.unknowns.start))
        least = jnp.minimum(1.0, jnp.max(size))
        return jnp.all(jnp.abs(residual) <= self.tolerance * jnp.maximum(size, least))

    def done(self, state: Iterate) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Iterate) -> dict[str, Any]:
        """Iteration, the largest residual, and the point."""
        residual = jnp.max(jnp.abs(state.residual))
        return {"iteration": state.iteration, "residual": residual, **shown(state.x)}

    def finish(self, state: Iterate) -> dict[str, Any]:
        """The point that maps to itself."""
        return answer(self.unknowns, state.x, state.residual, state, state.outcome)
