"""Iterative solves: cg, gmres and bicgstab of JAX, each right-hand side on its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.sparse import linalg

from app.sparse.matrix import SparseMatrix
from app.sparse.solve.solver import Matrix, Solver, transposed
from app.sparse.sparsify.products import diagonal

METHODS = ("cg", "gmres", "bicgstab")
PRECONDITIONERS = ("none", "jacobi")


def solver(A: Matrix, method: str, preconditioner: str, tol: float, maxiter: int | None) -> Solver:
    """Solves by iteration to the relative residual ``tol``, as the method itself measures it."""
    A = jax.lax.stop_gradient(A)
    run: Callable[..., Any] = getattr(linalg, method)
    M = _jacobi(A) if preconditioner == "jacobi" else None

    def solve(turned: bool, b: jax.Array) -> jax.Array:
        operator = transposed(A) if turned else A
        one = partial(run, operator.__matmul__, tol=tol, atol=0.0, maxiter=maxiter, M=M)
        if b.ndim == 1:
            return one(b)[0]
        return jax.vmap(lambda rhs: one(rhs)[0], 1, 1)(b)

    return solve


def _jacobi(A: Matrix) -> Callable[[jax.Array], jax.Array]:
    centre = diagonal(A) if isinstance(A, SparseMatrix) else jnp.diagonal(A)
    inverse = jnp.where(centre == 0, 1, 1 / jnp.where(centre == 0, 1, centre))
    return lambda x: inverse * x
