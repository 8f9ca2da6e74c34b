"""``solve.linear_solve``: A x = b inside a function."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.language.solve import options as read
from app.sparse.matrix import SparseMatrix
from app.sparse.solve.linear import METHODS, PRECONDITIONERS, Options, sound_solution


class LinearSolution(NamedTuple):
    """``x``, the relative ``residual`` of each right-hand side, ``success``, ``outcome``."""

    x: jax.Array
    residual: jax.Array
    success: jax.Array
    outcome: jax.Array


def linear_solve(
    A: Any,
    b: Any,
    *,
    method: str = "direct",
    preconditioner: str = "none",
    tol: float | None = None,
    maxiter: int | None = None,
    damp: float = 0.0,
    full: bool = False,
) -> Any:
    """Solve A x = b for a dense or sparse matrix A and one right-hand side (n,) or many (n, k).

    The answer is x; with ``full=True`` x, residual, success and outcome. What could not be solved
    (a singular matrix, an iteration that did not converge) is NaN. Differentiable in A, at the
    entries it stores, and in b. ``method="lsmr"`` takes A of any shape and rank and gives the
    least-squares solution of least norm, with ``damp`` that of |A x - b|^2 + damp^2 |x|^2.
    """
    A = A if isinstance(A, SparseMatrix) else jnp.asarray(A)
    options = Options(
        read.choice("method", method, METHODS),
        read.choice("preconditioner", preconditioner, PRECONDITIONERS),
        None if tol is None else read.number("tol", tol, least=0.0),
        None if maxiter is None else read.count("maxiter", maxiter),
        read.number("damp", damp, least=0.0),
    )
    solved = sound_solution(A, b, options)
    if not read.flag("full", full):
        return solved.x
    return LinearSolution(solved.x, solved.residual, solved.outcome == 0, solved.outcome)
