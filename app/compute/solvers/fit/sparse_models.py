"""The models of ``linear_models`` on a sparse X, by products alone: it is never made dense.

Newton's method, each step by conjugate gradients on columns that are centred and scaled in
thought only: X is read as it is, and what centring would change is put right beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.fit.family import Family
from app.compute.solvers.outcomes import Outcome
from app.sparse.matrix import SparseMatrix

LENGTHS = 25
"""Halvings of a Newton step that are tried."""
INNER = 500
"""Products that one Newton step may take."""


class Columns(NamedTuple):
    """What the columns are centred and scaled by; a constant one has scale 0."""

    centre: Any
    scale: Any


class Estimate(NamedTuple):
    """Coefficients of the scaled columns, intercept first; z = X b; how flat it is there."""

    coefficients: Any
    z: Any
    value: Any
    gradient: Any
    iteration: Any
    outcome: Any


@dataclass(frozen=True)
class SparseRegression:
    """One named model on X (m, n), sparse, and y (m,)."""

    family: Family
    x: SparseMatrix
    y: Any
    l2: float
    intercept: bool
    max_steps: int

    def columns(self) -> Columns:
        """Means (zero without an intercept) and deviations of the columns."""
        count, ones = self.x.shape[0], jnp.ones_like(self.y)
        mean = self.x.T @ ones / count
        square = self._squares().T @ ones / count
        centre = mean if self.intercept else jnp.zeros_like(mean)
        spread = square - centre * (2.0 * mean - centre)
        flat = spread <= 64 * jnp.finfo(self.y.dtype).eps * square
        return Columns(centre, jnp.where(flat, 0.0, jnp.sqrt(jnp.maximum(spread, 0.0))))

    def _squares(self) -> SparseMatrix:
        return self.x.map(jnp.square)

    def _slopes(self, b: Any, columns: Columns) -> Any:
        """Scaled coefficients on the client's scale, without the intercept."""
        slopes = b[int(self.intercept) :]
        safe = jnp.where(columns.scale > 0, columns.scale, 1.0)
        return jnp.where(columns.scale > 0, slopes / safe, 0.0)

    def _times(self, b: Any, columns: Columns) -> Any:
        """The scaled design times coefficients."""
        slopes = self._slopes(b, columns)
        z = self.x @ slopes - columns.centre @ slopes
        return z + b[0] if self.intercept else z

    def _pull(self, u: Any, columns: Columns) -> Any:
        """The transposed scaled design times a vector of rows."""
        total = jnp.sum(u)
        safe = jnp.where(columns.scale > 0, columns.scale, 1.0)
        pulled = (self.x.T @ u - columns.centre * total) / safe
        pulled = jnp.where(columns.scale > 0, pulled, 0.0)
        return jnp.concatenate([total[None], pulled]) if self.intercept else pulled

    def _penalty(self, columns: Columns) -> Any:
        """l2 on the client's scale for each scaled coefficient; none for the intercept."""
        weights = self.l2 / jnp.where(columns.scale > 0, columns.scale, 1.0) ** 2
        return (
            jnp.concatenate([jnp.zeros(1, weights.dtype), weights]) if self.intercept else weights
        )

    def _diagonal(self, weight: Any, columns: Columns) -> Any:
        """The diagonal of the Hessian: what conjugate gradients are preconditioned by."""
        total, centre = jnp.sum(weight), columns.centre
        squares = self._squares().T @ weight - 2 * centre * (self.x.T @ weight)
        safe = jnp.where(columns.scale > 0, columns.scale, 1.0) ** 2
        own = jnp.where(columns.scale > 0, (squares + centre**2 * total) / safe, 1.0)
        own = jnp.concatenate([total[None], own]) if self.intercept else own
        own = own + self._penalty(columns)
        return jnp.where(own > 0, own, 1.0)

    def _objective(self, b: Any, z: Any, columns: Columns) -> Any:
        return self.family.loss(self.y, z) + 0.5 * jnp.sum(self._penalty(columns) * b * b)

    def init(self) -> Estimate:
        """The start; data that no fit can be made of is an outcome."""
        columns = self.columns()
        size = self.x.shape[1] + int(self.intercept)
        start = self.family.start(self.y, size, self.intercept)
        z = self._times(start, columns)
        finite = jnp.all(jnp.isfinite(self.x.stored_values())) & jnp.all(jnp.isfinite(self.y))
        value = self._objective(start, z, columns)
        zero = jnp.zeros((), jnp.int32)
        outcome = self.family.checked(self.y, finite)
        return Estimate(start, z, value, jnp.full_like(value, jnp.inf), zero, outcome)

    def step(self, state: Estimate) -> Estimate:
        """A Newton step, halved until the objective falls."""
        columns = self.columns()
        penalty = self._penalty(columns)
        mean, weight = self.family.mean(state.z)
        slope = self._pull(mean - self.y, columns) + penalty * state.coefficients
        diagonal = self._diagonal(weight, columns)

        def hessian(v: Any) -> Any:
            return self._pull(weight * self._times(v, columns), columns) + penalty * v

        move = conjugate_gradients(hessian, -slope, diagonal, self._forcing(slope))
        along = self._times(move, columns)
        lengths = 0.5 ** jnp.arange(LENGTHS, dtype=move.dtype)

        def value(length: Any) -> Any:
            moved = state.coefficients + length * move
            return self._objective(moved, state.z + length * along, columns)

        values = jax.lax.map(value, lengths)
        values = jnp.where(jnp.isfinite(values), values, jnp.inf)
        better = values <= state.value + 4 * jnp.finfo(move.dtype).eps * jnp.abs(state.value)
        at = jnp.where(jnp.any(better), jnp.argmax(better), LENGTHS - 1)
        new = state.coefficients + lengths[at] * move
        z = self._times(new, columns)
        residual = self.family.mean(z)[0] - self.y
        gradient = jnp.max(jnp.abs(self._pull(residual, columns) + penalty * new))
        moved = Estimate(new, z, values[at], gradient, state.iteration + 1, state.outcome)
        stuck = ~jnp.any(better) | (jnp.max(jnp.abs(lengths[at] * move)) == 0)
        outcome = self._outcome(moved, residual, stuck, hessian, diagonal)
        return moved._replace(outcome=outcome)

    def _forcing(self, slope: Any) -> Any:
        """How exactly a step is solved for: better and better where the model is not linear."""
        size = jnp.linalg.norm(slope) / self.y.shape[0]
        return jnp.asarray(1e-12) if self.family.linear else jnp.minimum(0.1, jnp.sqrt(size))

    def _outcome(
        self, new: Estimate, residual: Any, stuck: Any, hessian: Callable[[Any], Any], diagonal: Any
    ) -> Any:
        """Converged where no column leans on the residuals by more than rounding."""
        eps = jnp.finfo(residual.dtype).eps
        # Columns have the norm sqrt(m): this is the largest cosine, times the residuals' size.
        count = jnp.sqrt(1.0 * residual.size)
        size = count * jnp.maximum(jnp.linalg.norm(residual), eps * jnp.linalg.norm(self.y))
        settled = (new.gradient <= eps**0.6 * size) & jnp.isfinite(size)
        fine = stuck & (new.gradient <= eps**0.4 * size)
        outcome = jnp.where(settled | fine, Outcome.GRADIENT, Outcome.RUNNING)
        outcome = jnp.where(stuck & ~fine & ~settled, Outcome.STALLED, outcome)
        over = (new.iteration >= self.max_steps) & (outcome == Outcome.RUNNING)
        outcome = jnp.where(over, Outcome.LIMIT, outcome)
        if not self.l2:
            ended = outcome != Outcome.RUNNING
            never = jnp.zeros((), bool)
            deficient = jax.lax.cond(
                ended, lambda: self._deficient(hessian, diagonal), lambda: never
            )
            outcome = jnp.where(deficient & ended, Outcome.RANK, outcome)
            if self.family.name == "logistic":
                apart = self.family.separated(self.y, new.z)
                outcome = jnp.where(apart, Outcome.SEPARATED, outcome)
        bad = ~(jnp.all(jnp.isfinite(new.coefficients)) & jnp.isfinite(size))
        return jnp.where(bad, Outcome.DIVERGED, outcome).astype(jnp.int32)

    def _deficient(self, hessian: Callable[[Any], Any], diagonal: Any) -> Any:
        """Whether a direction was found along which nothing changes: a proof, not a guess.

        Conjugate gradients give back of a random vector what the Hessian can see of it.
        """
        if self.x.shape[0] < diagonal.size:
            return jnp.ones((), bool)
        probe = jax.random.normal(jax.random.key(0), diagonal.shape, diagonal.dtype)
        probe = probe / jnp.sqrt(diagonal)
        seen = conjugate_gradients(hessian, hessian(probe), diagonal, 1e-12)
        rest = (probe - seen) * jnp.sqrt(diagonal)
        rest = rest / jnp.maximum(jnp.linalg.norm(rest), jnp.finfo(rest.dtype).tiny)
        curve = jnp.linalg.norm(hessian(rest / jnp.sqrt(diagonal)) / jnp.sqrt(diagonal))
        found = jnp.linalg.norm(probe - seen) > 1e-6 * jnp.linalg.norm(probe)
        return found & (curve < 1e-10)

    def done(self, state: Estimate) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Estimate) -> dict[str, Any]:
        """Iteration, objective and the largest entry of its gradient."""
        return {
            "iteration": state.iteration,
            "value": state.value,
            "gradient_norm": state.gradient,
        }

    def finish(self, state: Estimate) -> dict[str, Any]:
        """Coefficients as the client's columns want them, intercept first in ``coef``."""
        columns = self.columns()
        slopes = self._slopes(state.coefficients, columns)
        finite = self.x.with_values(jnp.isfinite(self.x.values).astype(self.x.dtype))
        stored = self.x.with_values(jnp.ones_like(self.x.values))
        ones = jnp.ones(self.x.shape[1], self.x.dtype)
        bad = (stored @ ones > finite @ ones) | ~jnp.isfinite(self.y)
        bad = bad | ~self.family.allowed(self.y)
        found: dict[str, Any] = {"coef": slopes}
        if self.intercept:
            first = state.coefficients[0] - columns.centre @ slopes
            found = {"coef": jnp.concatenate([first[None], slopes]), "intercept": first}
        found |= {
            "slopes": slopes,
            "value": state.value,
            "gradient_norm": state.gradient,
            "iterations": state.iteration,
            "outcome": state.outcome,
            "bad_row": jnp.where(jnp.any(bad), jnp.argmax(bad), -1).astype(jnp.int32),
        }
        if self.family.linear:
            return {**found, "rss": jnp.sum((self.y - state.z) ** 2)}
        return {**found, "nll": self.family.loss(self.y, state.z)}


def conjugate_gradients(
    product: Callable[[Any], Any], b: Any, diagonal: Any, tolerance: Any
) -> Any:
    """x with ``product`` (x) = b, to a residual of ``tolerance`` times b, or INNER products.

    Preconditioned by ``diagonal``; stops where a direction shows no curvature.
    """

    def more(carry: tuple[Any, ...]) -> Any:
        count, _, r, _, rho, flat = carry
        return (count < INNER) & ~flat & (rho > 0) & (jnp.linalg.norm(r) > goal)

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        count, x, r, p, rho, _ = carry
        image = product(p)
        curve = p @ image
        flat = ~(curve > 0)
        length = jnp.where(flat, 0.0, rho / jnp.where(flat, 1.0, curve))
        r = r - length * image
        scaled = r / diagonal
        after = r @ scaled
        p = scaled + (after / rho) * p
        return count + 1, x + length * carry[3], r, p, after, flat

    goal = tolerance * jnp.linalg.norm(b)
    first = b / diagonal
    start = (jnp.zeros((), jnp.int32), jnp.zeros_like(b), b, first, b @ first, jnp.zeros((), bool))
    return jax.lax.while_loop(more, step, start)[1]
