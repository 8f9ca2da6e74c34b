"""Linear, ridge, logistic and Poisson regression by name: direct or by Newton's method.

Columns are centred (where there is an intercept) and scaled before anything is solved, which is
what keeps the digits of ill-conditioned designs; solves go by singular values, never by normal
equations. The penalty is l2 / 2 times the squared coefficients (l2 for least squares), on the
scale the client sent, the intercept free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.fit.family import Family
from app.compute.solvers.implicit import succeeded
from app.compute.solvers.minimize.newton import all_finite
from app.compute.solvers.outcomes import Outcome


class Design(NamedTuple):
    """Centred and scaled columns, with what they were centred and scaled by."""

    columns: Any
    centre: Any
    scale: Any


class Estimate(NamedTuple):
    """Coefficients of the scaled design, intercept first; objective, size of the last step."""

    coefficients: Any
    value: Any
    step: Any
    iteration: Any
    outcome: Any


@dataclass(frozen=True)
class Regression:
    """One named model on dense X (m, n) and y (m,)."""

    family: Family
    x: Any
    y: Any
    l2: float
    intercept: bool
    max_steps: int

    def init(self) -> Estimate:
        """Zero coefficients (Poisson: the mean); data that no fit can be made of is an outcome."""
        size = self.x.shape[1] + int(self.intercept)
        start = self.family.start(self.y, size, self.intercept)
        outcome = self.family.checked(self.y, all_finite(self.x, self.y))
        value = self._objective(start, self._matrix())
        zero = jnp.zeros((), jnp.int32)
        return Estimate(start, value, jnp.full_like(value, jnp.inf), zero, outcome)

    def design(self) -> Design:
        """The columns made alike; a constant one becomes zero where there is an intercept."""
        count = self.x.shape[0]
        centre = jnp.mean(self.x, 0) if self.intercept else jnp.zeros_like(self.x[0])
        columns = self.x - centre
        if self.intercept:
            # What rounding left of the mean; then entries that are rounding alone.
            rest = jnp.mean(columns, 0)
            columns, centre = columns - rest, centre + rest
            noise = 4 * jnp.finfo(columns.dtype).eps * jnp.max(jnp.abs(self.x), 0)
            flat = jnp.max(jnp.abs(columns), 0) <= noise
            columns = jnp.where(flat, 0.0, columns)
        # Squares of columns in units of their own neither overflow nor vanish.
        largest = jnp.max(jnp.abs(columns), 0)
        unit = jnp.where(largest > 0, largest, 1.0)
        norms = unit * jnp.linalg.norm(columns / unit, axis=0) / jnp.sqrt(1.0 * count)
        return Design(columns / jnp.where(norms > 0, norms, 1.0), centre, norms)

    def _matrix(self) -> Any:
        """The scaled design, a column of ones first where there is an intercept."""
        columns = self.design().columns
        if not self.intercept:
            return columns
        return jnp.concatenate([jnp.ones((columns.shape[0], 1), columns.dtype), columns], 1)

    def _penalty(self) -> Any:
        """l2 on the client's scale for each scaled coefficient; none for the intercept."""
        scale = self.design().scale
        weights = (self.l2**0.5 / jnp.where(scale > 0, scale, 1.0)) ** 2
        if not self.intercept:
            return weights
        return jnp.concatenate([jnp.zeros(1, weights.dtype), weights])

    def _objective(self, b: Any, matrix: Any) -> Any:
        """Negative log-likelihood (half the rss for least squares) with the penalty."""
        return self.family.loss(self.y, matrix @ b) + 0.5 * jnp.sum(self._penalty() * b * b)

    def step(self, state: Estimate) -> Estimate:
        """A Newton step by weighted least squares, halved until the objective falls."""
        matrix, penalty = self._matrix(), self._penalty()
        z = matrix @ state.coefficients
        mean, weight = self.family.mean(z)
        root = jnp.sqrt(weight)
        # Rows of the penalty stand below those of the data: no square is ever formed.
        rows = jnp.concatenate([root[:, None] * matrix, jnp.diag(jnp.sqrt(penalty))])
        safe = jnp.where(root > 0, root, 1.0)
        target = jnp.concatenate([(self.y - mean) / safe, -jnp.sqrt(penalty) * state.coefficients])
        move, rank = least_norm(rows, target)
        lengths = 0.5 ** jnp.arange(25, dtype=move.dtype)
        values = jax.lax.map(
            lambda t: self._objective(state.coefficients + t * move, matrix), lengths
        )
        values = jnp.where(jnp.isfinite(values), values, jnp.inf)
        better = values <= state.value + 4 * jnp.finfo(move.dtype).eps * jnp.abs(state.value)
        at = jnp.where(jnp.any(better), jnp.argmax(better), 0)
        new = state.coefficients + lengths[at] * move
        value = values[at]
        moved = jnp.max(jnp.abs(lengths[at] * move))
        outcome = self._outcome(state, new, moved, rank, matrix)
        return Estimate(new, value, moved, state.iteration + 1, outcome)

    def _outcome(self, state: Estimate, new: Any, moved: Any, rank: Any, matrix: Any) -> Any:
        size = jnp.maximum(1.0, jnp.max(jnp.abs(new)))
        eps = jnp.finfo(new.dtype).eps
        settled = moved <= eps**0.75 * size
        converged = Outcome.GRADIENT
        if self.family.linear:
            # The second step is one of iterative refinement.
            settled, converged = state.iteration >= 1, Outcome.EXACT
        outcome = jnp.where(settled, converged, Outcome.RUNNING)
        over = (state.iteration + 1 >= self.max_steps) & (outcome == Outcome.RUNNING)
        outcome = jnp.where(over, Outcome.LIMIT, outcome)
        deficient = rank < matrix.shape[1]
        if self.family.name == "logistic" and not self.l2:
            apart = self.family.separated(self.y, matrix @ new)
            outcome = jnp.where(deficient & settled, Outcome.RANK, outcome)
            outcome = jnp.where(apart, Outcome.SEPARATED, outcome)
        elif not self.l2:
            outcome = jnp.where(deficient & settled, Outcome.RANK, outcome)
        bad = ~all_finite(new, moved)
        return jnp.where(bad, Outcome.DIVERGED, outcome).astype(jnp.int32)

    def done(self, state: Estimate) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Estimate) -> dict[str, Any]:
        """Iteration, objective and the largest change of a scaled coefficient."""
        return {"iteration": state.iteration, "value": state.value, "step": state.step}

    def finish(self, state: Estimate) -> dict[str, Any]:
        """Coefficients as the client's columns want them, intercept first in ``coef``."""
        design = self.design()
        slopes = state.coefficients[int(self.intercept) :]
        slopes = jnp.where(
            design.scale > 0, slopes / jnp.where(design.scale > 0, design.scale, 1), 0
        )
        matrix = self._matrix()
        z = matrix @ state.coefficients
        plain = self._objective(state.coefficients, matrix)
        penalty = 0.5 * jnp.sum(self._penalty() * state.coefficients**2)
        good = jnp.all(jnp.isfinite(self.x), 1) & jnp.isfinite(self.y)
        bad = ~(good & self.family.allowed(self.y))
        found: dict[str, Any] = {"coef": slopes}
        if self.intercept:
            first = state.coefficients[0] - design.centre @ slopes
            found = {"coef": jnp.concatenate([first[None], slopes]), "intercept": first}
        found |= {
            "slopes": slopes,
            "value": plain,
            "iterations": state.iteration,
            "outcome": state.outcome,
            "bad_row": jnp.where(jnp.any(bad), jnp.argmax(bad), -1).astype(jnp.int32),
        }
        residuals = self.y - z
        spare = matrix.shape[0] - matrix.shape[1]
        if not self.l2 and (spare > 0 or not self.family.linear):
            spread = residuals @ residuals / spare if self.family.linear else 1.0
            errors = spread**0.5 * self._errors(matrix, z, design)
            found["standard_errors"] = jnp.where(succeeded(state.outcome), errors, jnp.nan)
        if self.family.linear:
            return {**found, "rss": residuals @ residuals}
        return {**found, "nll": plain - penalty}

    def _errors(self, matrix: Any, z: Any, design: Design) -> Any:
        """Roots of the diagonal of the inverse information of ``coef``, by singular values."""
        _, weight = self.family.mean(z)
        rows = jnp.sqrt(weight)[:, None] * matrix
        rows = jnp.where(jnp.all(jnp.isfinite(rows)), rows, 0.0)
        _, singular, basis = jnp.linalg.svd(rows, full_matrices=False)
        half = basis.T / jnp.where(singular > 0, singular, jnp.nan)
        scale = jnp.where(design.scale > 0, design.scale, jnp.nan)
        slopes = half[int(self.intercept) :] / scale[:, None]
        if self.intercept:
            first = half[0] - design.centre @ slopes
            slopes = jnp.concatenate([first[None], slopes])
        return jnp.linalg.norm(slopes, axis=1)


def least_norm(rows: Any, target: Any) -> tuple[Any, Any]:
    """The least-norm least-squares solution by singular values, and the rank."""
    finite = jnp.all(jnp.isfinite(rows)) & jnp.all(jnp.isfinite(target))
    rows = jnp.where(finite, rows, 0.0)
    norms = jnp.linalg.norm(rows, axis=0)
    scale = jnp.where(norms > 0, norms, 1.0)
    left, singular, basis = jnp.linalg.svd(rows / scale, full_matrices=False)
    floor = jnp.finfo(rows.dtype).eps * max(rows.shape) * jnp.max(singular, initial=0.0)
    kept = singular > floor
    part = jnp.where(kept, left.T @ target / jnp.where(kept, singular, 1.0), 0.0)
    answer = jnp.where(finite, (basis.T @ part) / scale, jnp.nan)
    return answer, jnp.sum(kept)
