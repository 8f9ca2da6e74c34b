"""``root``: zeros of a square system by Newton, Broyden or chord steps; and by bisection.

Newton is globalised as a least-squares problem in a trust region, so that it cannot cycle; it
succeeds only where the function itself is zero. The others are damped by backtracking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.equations.least_squares import Fit, LeastSquares
from app.compute.solvers.jacobian import jacobian as jacobian_of
from app.compute.solvers.minimize.newton import all_finite
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.unknowns import Unknowns, shown, sizes

HALVINGS = 12


class Zero(NamedTuple):
    """Where a quasi-Newton iteration is; ``jacobian`` is its own approximation."""

    x: Any
    value: Any
    jacobian: Any
    step: Any
    iteration: Any
    evaluations: Any
    outcome: Any


def verdict(
    function: Callable[[Any], Any], start: Any, x: Any, outcome: Any, tolerance: float
) -> Any:
    """What ``x`` is, found from ``start``: a verified root, or why it is none.

    At a root every value is 0, or within ``tolerance`` of what its derivatives make of the
    size of the unknowns, or rounding beside its value at the start; and a Newton step is small.
    A bare number is never small: in other units 1e-12 (x^2 + 1) is x^2 + 1, without a root.
    """
    value, jacobian = function(x), jacobian_of(function, x)
    finite = all_finite(value, jacobian)
    jacobian = jnp.where(finite, jacobian, 0.0)
    size = sizes(start, x)
    tolerance = max(tolerance, 4 * float(jnp.finfo(x.dtype).eps))
    slopes = jnp.abs(jacobian)
    first = jnp.nan_to_num(jnp.abs(function(start)), posinf=0.0)
    dust = jnp.where(jnp.any(slopes > 0, axis=1), 64 * jnp.finfo(x.dtype).eps * first, 0.0)
    small = jnp.all(jnp.abs(value) <= jnp.maximum(tolerance * (slopes @ size), dust))
    step = newton_step(jacobian, value)
    close = jnp.max(jnp.abs(step)) <= tolerance**0.5 * jnp.max(size)
    root = finite & ((small & close) | jnp.all(value == 0))
    singular = jnp.linalg.matrix_rank(jacobian) < x.size
    failed = jnp.where(singular & (x.size > 1), Outcome.SINGULAR, Outcome.STATIONARY)
    kept = (outcome == Outcome.LIMIT) | (outcome == Outcome.START) | (outcome == Outcome.DIVERGED)
    failed = jnp.where(kept, outcome, jnp.where(finite, failed, Outcome.NOT_FINITE))
    return jnp.where(root, Outcome.ROOT, failed).astype(jnp.int32)


def newton_step(jacobian: Any, value: Any) -> Any:
    """The least-norm solution of J s = -F, by singular values: never infinite."""
    return -(jnp.linalg.pinv(jacobian) @ value)


@dataclass(frozen=True)
class GlobalNewton:
    """Newton in a trust region."""

    fit: LeastSquares
    unknowns: Unknowns
    tolerance: float

    def init(self) -> Fit:
        """Evaluate at the start."""
        return self.fit.start(self.unknowns.start)

    def step(self, state: Fit) -> Fit:
        """One trust-region step."""
        return self.fit.step(state)

    def done(self, state: Fit) -> Any:
        """Whether nothing more can be gained."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Fit) -> dict[str, Any]:
        """Iteration, the largest value in size, and the point."""
        residual = jnp.max(jnp.abs(state.values))
        return {"iteration": state.iteration, "residual": residual, **shown(state.x)}

    def finish(self, state: Fit) -> dict[str, Any]:
        """The root, if it is one."""
        outcome = verdict(
            self.fit.residuals, self.unknowns.start, state.x, state.outcome, self.tolerance
        )
        return answer(self.unknowns, state.x, state.values, state, outcome)


@dataclass(frozen=True)
class Secant:
    """Broyden's good method, or the chord method with the Jacobian of the start."""

    function: Callable[[Any], Any]
    unknowns: Unknowns
    broyden: bool
    tolerance: float
    max_steps: int

    def init(self) -> Zero:
        """Evaluate function and Jacobian at the start."""
        x = self.unknowns.start
        value, jacobian = self.function(x), jacobian_of(self.function, x)
        finite = all_finite(value, jacobian)
        zero = jnp.zeros((), jnp.int32)
        outcome = jnp.where(finite, Outcome.RUNNING, Outcome.START).astype(jnp.int32)
        size = jnp.full((), jnp.inf, x.dtype)
        return Zero(x, value, jnp.where(finite, jacobian, 0.0), size, zero, zero + 1, outcome)

    def step(self, state: Zero) -> Zero:
        """A damped step with the remembered Jacobian; Broyden's rank-one correction."""
        s = newton_step(state.jacobian, state.value)
        lengths = 0.5 ** jnp.arange(HALVINGS, dtype=s.dtype)
        norm = jnp.linalg.norm(state.value)

        def longer(carry: tuple[Any, Any]) -> Any:
            at, value = carry
            bad = ~(jnp.linalg.norm(value) < norm * (1 - 1e-4 * lengths[at]))
            return bad & (at < HALVINGS - 1)

        def shorter(carry: tuple[Any, Any]) -> tuple[Any, Any]:
            at = carry[0] + 1
            return at, self.function(state.x + lengths[at] * s)

        at, value = jax.lax.while_loop(
            longer, shorter, (jnp.zeros((), jnp.int32), self.function(state.x + s))
        )
        s = lengths[at] * s
        change = value - state.value - state.jacobian @ s
        squared = jnp.maximum(s @ s, jnp.finfo(s.dtype).tiny)
        jacobian = state.jacobian + jnp.outer(change, s) / squared if self.broyden else (
            state.jacobian
        )  # fmt: skip
        return self._judge(state, s, value, jacobian, state.evaluations + at + 1)

    def _judge(self, state: Zero, s: Any, value: Any, jacobian: Any, evaluations: Any) -> Zero:
        x = state.x + s
        size = jnp.max(jnp.abs(s))
        eps = jnp.finfo(s.dtype).eps
        ended = (size <= 4 * eps * jnp.max(jnp.abs(x))) | jnp.all(value == 0)
        over = state.iteration + 1 >= self.max_steps
        outcome = jnp.where(ended, Outcome.STALLED, jnp.where(over, Outcome.LIMIT, 0))
        good = all_finite(value, jacobian)
        outcome = jnp.where(good, outcome, Outcome.DIVERGED).astype(jnp.int32)
        return Zero(
            jnp.where(good, x, state.x),
            jnp.where(good, value, state.value),
            jnp.where(good, jacobian, state.jacobian),
            size,
            state.iteration + 1,
            evaluations,
            outcome,
        )

    def done(self, state: Zero) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Zero) -> dict[str, Any]:
        """Iteration, the largest value in size, and the point."""
        residual = jnp.max(jnp.abs(state.value))
        return {"iteration": state.iteration, "residual": residual, **shown(state.x)}

    def finish(self, state: Zero) -> dict[str, Any]:
        """The root, if it is one."""
        outcome = verdict(
            self.function, self.unknowns.start, state.x, state.outcome, self.tolerance
        )
        return answer(self.unknowns, state.x, state.value, state, outcome)


def answer(unknowns: Unknowns, x: Any, value: Any, state: Any, outcome: Any) -> dict[str, Any]:
    """The result of every root finder."""
    return {
        "solution": unknowns.pack(x),
        "residual": jnp.max(jnp.abs(value)),
        "iterations": state.iteration,
        "evaluations": state.evaluations,
        "outcome": outcome,
    }
