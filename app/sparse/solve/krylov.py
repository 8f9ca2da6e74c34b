"""Iterative solves: cg, gmres and bicgstab of JAX, each right-hand side on its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.sparse import linalg

from app.sparse.matrix import SparseMatrix
from app.sparse.solve import incomplete
from app.sparse.solve.solver import Matrix, Solver, scales, transposed
from app.sparse.sparsify.products import diagonal

METHODS = ("cg", "gmres", "bicgstab")
PRECONDITIONERS = ("none", "jacobi", "ilu")
ROUNDS = 4
"""How often a preconditioned iteration goes on from the true residual: it measures another one."""

Apply = Callable[[jax.Array], jax.Array]


def solver(A: Matrix, method: str, preconditioner: str, tol: float, maxiter: int | None) -> Solver:
    """Solves by iteration to the relative residual ``tol``, for right-hand sides of about 1."""
    A = jax.lax.stop_gradient(A)
    # gmres takes a product of less than a round-off for 0
    scale = scales(A.stored_values() if isinstance(A, SparseMatrix) else A)
    A = A.map(scale.__mul__) if isinstance(A, SparseMatrix) else scale * A
    conditioned = _preconditioner(A, preconditioner)
    run: Callable[..., Any] = getattr(linalg, method)
    rounds = ROUNDS if conditioned is not None and maxiter is None else 1

    def solve(turned: bool, b: jax.Array) -> jax.Array:
        operator = (transposed(A) if turned else A).__matmul__
        M = conditioned(turned) if conditioned is not None else None
        step = partial(run, operator, tol=0.0, maxiter=maxiter, M=M)
        one = partial(_in_rounds, operator, step, tol, rounds)
        return scale * (one(b) if b.ndim == 1 else jax.vmap(one, 1, 1)(b))

    return solve


def _in_rounds(
    product: Apply, step: Callable[..., Any], tol: float, rounds: int, b: jax.Array
) -> jax.Array:
    goal = tol * jnp.linalg.norm(b)
    if rounds == 1:
        return step(b, atol=goal)[0]

    def unfinished(state: Any) -> jax.Array:
        count, _, miss = state
        return (count < rounds) & (jnp.linalg.norm(miss) > goal)

    def advance(state: Any) -> Any:
        count, x, miss = state
        x = x + step(miss, atol=goal)[0]
        return count + 1, x, b - product(x)

    return jax.lax.while_loop(unfinished, advance, (0, jnp.zeros_like(b), b))[1]


def _preconditioner(A: Matrix, name: str) -> Callable[[bool], Apply] | None:
    """For A, or for A.T where asked with True: about the inverse, applied to a vector."""
    if name == "ilu":
        return incomplete.inverse(A)
    if name != "jacobi":
        return None
    centre = diagonal(A) if isinstance(A, SparseMatrix) else jnp.diagonal(A)
    inverse = jnp.where(centre == 0, 1, 1 / jnp.where(centre == 0, 1, centre))
    return lambda turned: lambda x: inverse * x
