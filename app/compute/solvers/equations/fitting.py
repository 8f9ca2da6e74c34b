"""``least_squares`` as a machine: reads the call, and adds what statistics want to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from app.compute.calls.call import Call
from app.compute.solvers import options as read
from app.compute.solvers.box import Box
from app.compute.solvers.equations.least_squares import METHODS, Fit, LeastSquares
from app.compute.solvers.jacobian import jacobian as jacobian_of
from app.compute.solvers.machine import Machine
from app.compute.solvers.multi_start import from_starts
from app.compute.solvers.outcomes import Outcome
from app.compute.solvers.unknowns import Unknowns, shown
from app.core.errors import InvalidArgument


@dataclass(frozen=True)
class Fitter:
    """The machine of a least-squares problem."""

    method: LeastSquares
    unknowns: Unknowns

    def init(self) -> Fit:
        """Evaluate at the start."""
        return self.method.start(self.unknowns.start)

    def step(self, state: Fit) -> Fit:
        """One iteration."""
        return self.method.step(state)

    def done(self, state: Fit) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Fit) -> dict[str, Any]:
        """Iteration, sum of squares, largest cosine of residuals and columns, and the point."""
        return {
            "iteration": state.iteration,
            "value": state.values @ state.values,
            "gradient_norm": state.slope,
            **shown(state.x),
        }

    def finish(self, state: Fit) -> dict[str, Any]:
        """Solution, rss, degrees of freedom, covariance and standard errors; outcome.

        Unknowns that a bound holds are known, not estimated. Without degrees of freedom nothing
        is known of the errors, and they are left out where that does not hang on the bounds.
        """
        residuals, unit = state.residuals, state.unit
        jacobian = jacobian_of(self.method.residuals, state.x) / unit
        rss = state.values @ state.values
        m, n = jacobian.shape
        gradient, box = jacobian.T @ residuals * unit * unit, self.method.box
        free = box.free(state.x, gradient) & (box.lower < box.upper)
        freedom = m - jnp.sum(free, dtype=jnp.int32)
        known = m > n or box.bounded
        return {
            "solution": self.unknowns.pack(state.x),
            "value": rss,
            "rss": rss,
            "degrees_of_freedom": freedom,
            **(self._errors(jacobian, free, residuals, unit, freedom) if known else {}),
            "gradient_norm": box.stationarity(state.x, gradient),
            "at_bounds": n - jnp.sum(free, dtype=jnp.int32),
            "iterations": state.iteration,
            "evaluations": state.evaluations,
            "outcome": jnp.where(jnp.isfinite(rss), state.outcome, self._lost(state)),
        }

    def _lost(self, state: Fit) -> Any:
        """The outcome where the sum of squares is not finite: never a success."""
        start = state.outcome == Outcome.START
        return jnp.where(start, Outcome.START, Outcome.NOT_FINITE).astype(jnp.int32)

    def _errors(
        self, jacobian: Any, free: Any, residuals: Any, unit: Any, freedom: Any
    ) -> dict[str, Any]:
        """What the variance of the residuals means for the unknowns; 0 for those held by bounds.

        Both are in ``unit``, of which the errors of unknowns know nothing.
        """
        variance = residuals @ residuals / jnp.maximum(freedom, 1)
        variance = jnp.where(freedom > 0, variance, jnp.nan)
        both = free[:, None] & free[None, :]
        covariance = jnp.where(both, _covariance(jacobian, free) * variance, 0.0)
        return {
            "residual_standard_deviation": jnp.sqrt(variance) * unit,
            "covariance": covariance,
            "standard_errors": self.unknowns.pack(jnp.sqrt(jnp.diagonal(covariance))),
        }


def _covariance(jacobian: Any, free: Any) -> Any:
    """(J^T J)^-1 of the free columns by singular values, scaled; infinite where it is singular."""
    jacobian = jnp.where(free, jacobian, 0.0)
    norms = jnp.linalg.norm(jacobian, axis=0)
    scale = jnp.where(norms > 0, norms, 1.0)
    finite = jnp.all(jnp.isfinite(jacobian))
    _, singular, basis = jnp.linalg.svd(
        jnp.where(finite, jacobian / scale, 0.0), full_matrices=False
    )
    floor = jnp.finfo(singular.dtype).eps * max(jacobian.shape) * jnp.max(singular, initial=0.0)
    kept = singular > floor
    known = jnp.sum(kept) == jnp.sum(free)
    half = jnp.where(kept, 1.0 / jnp.where(kept, singular, 1.0), 0.0)[:, None] * basis
    return jnp.where(known, half.T @ half, jnp.inf) / (scale[:, None] * scale[None, :])


def residuals_of(call: Call, unknowns: Unknowns) -> Any:
    """The function's results as one flat vector of a flat vector."""
    call.require_real_output("least_squares")
    if not any(leaf.size for leaf in jax.tree.leaves(call.staged.out)):
        raise InvalidArgument("the function returns no numbers to square", pointer="/function")
    return lambda x: ravel_pytree(unknowns.function(x))[0]


def default_tolerance(dtype: Any) -> float:
    """Of squares, steps and cosines, where ``tol`` says nothing."""
    return 1e-15 if dtype == jnp.float64 else 1e-6


def build(call: Call) -> Machine:
    """The machine of a call. ``tol`` is relative: of squares, steps and cosines."""
    unknowns = Unknowns.of(call)
    box = read.box_or_space(call.options, unknowns.start)
    return from_starts(call, unknowns, box, lambda start: _fitter(call, start, box))


def _fitter(call: Call, unknowns: Unknowns, box: Box) -> Fitter:
    """The machine from one start."""
    x = unknowns.start
    method = LeastSquares(
        residuals_of(call, unknowns),
        box,
        read.one_of(call.options, "method", METHODS, "levenberg_marquardt"),
        read.number(call.options, "tol", default_tolerance(x.dtype)),
        read.count(call.options, "max_steps", 10_000),
    )
    return Fitter(method, unknowns)
