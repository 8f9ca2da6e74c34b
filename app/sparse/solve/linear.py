"""``A x = b`` for a sparse A: one call, its solution, its true residual and how it ended.

Derivatives with respect to the nonzeros and to b are implicit: they solve with A and its
transpose again, to any order. A singular matrix is an outcome, never a silent NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse import linalg

from app.core.errors import InvalidArgument
from app.sparse.matrix import SparseMatrix
from app.sparse.solve.factors import process_factors
from app.sparse.sparsify.products import diagonal

METHODS = ("direct", "cg", "gmres", "bicgstab")
PRECONDITIONERS = ("none", "jacobi")
OUTCOMES = (
    "solved",
    "not converged: the residual is above the tolerance",
    "singular, or too near it: no finite solution was found",
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Solution:
    """``x``; ``residual``, the norm of b - A x over that of b, for each right-hand side; and
    ``outcome``, an index into ``OUTCOMES``."""

    x: jax.Array
    residual: jax.Array
    outcome: jax.Array


def linear_solve(
    A: SparseMatrix,
    b: jax.Array,
    *,
    method: str = "direct",
    preconditioner: str = "none",
    tol: float = 1e-9,
    maxiter: int | None = None,
) -> Solution:
    """Solve for one right-hand side ``(n,)`` or many ``(n, k)``.

    ``direct`` factors on the host (SuperLU) and keeps the factors; a program that holds it
    cannot be stored. ``cg`` needs a symmetric (Hermitian) positive definite A.
    """
    _check(A, b, method, preconditioner)
    b = b.astype(jnp.result_type(A.dtype, b, jnp.float32))
    A = A.map(lambda values: values.astype(b.dtype))
    if method == "direct":
        x = direct(A, b)
    else:
        x = iterative(A, b, method, preconditioner, tol, maxiter)
    fixed = jax.lax.stop_gradient((A, x, b))
    miss = jnp.linalg.norm(fixed[2] - fixed[0] @ fixed[1], axis=0)
    size = jnp.linalg.norm(fixed[2], axis=0)
    residual = miss / jnp.where(size > 0, size, 1)
    loose = max(tol, 1e-6) if method == "direct" else 10 * tol
    outcome = jnp.where(residual <= loose, 0, 1)
    finite = jnp.isfinite(residual) & jnp.all(jnp.isfinite(fixed[1]), axis=0)
    outcome = jnp.where(finite, outcome, 2).max(initial=0)
    return Solution(x, residual, outcome.astype(jnp.int32))


def direct(A: SparseMatrix, b: jax.Array) -> jax.Array:
    """``x`` by sparse LU with implicit derivatives."""
    wide = jnp.complex128 if jnp.issubdtype(b.dtype, jnp.complexfloating) else jnp.float64

    def host(transposed: bool, values: Any, indices: Any, indptr: Any, rhs: Any) -> np.ndarray:
        kept = process_factors().get(
            np.asarray(values, wide), np.asarray(indices), np.asarray(indptr)
        )
        return kept.solve(np.asarray(rhs, wide), transposed).astype(rhs.dtype)

    def solve(transposed: bool, rhs: jax.Array) -> jax.Array:
        return jax.pure_callback(
            partial(host, transposed != A.transposed),
            jax.ShapeDtypeStruct(rhs.shape, rhs.dtype),
            jax.lax.stop_gradient(A.values),
            A.indices,
            A.indptr,
            rhs,
            vmap_method="sequential",
        )

    return jax.lax.custom_linear_solve(
        A.__matmul__,
        b,
        lambda _, rhs: solve(False, rhs),
        lambda _, rhs: solve(True, rhs),
    )


def iterative(
    A: SparseMatrix,
    b: jax.Array,
    method: str,
    preconditioner: str,
    tol: float,
    maxiter: int | None,
) -> jax.Array:
    """``x`` by a Krylov method, each right-hand side on its own."""
    run: Callable[..., Any] = getattr(linalg, method)
    M = _jacobi(A) if preconditioner == "jacobi" else None
    one = partial(run, A.__matmul__, tol=tol, atol=0.0, maxiter=maxiter, M=M)
    if b.ndim == 1:
        return one(b)[0]
    return jax.vmap(lambda rhs: one(rhs)[0], 1, 1)(b)


def _jacobi(A: SparseMatrix) -> Callable[[jax.Array], jax.Array]:
    centre = jax.lax.stop_gradient(diagonal(A))
    inverse = jnp.where(centre == 0, 1, 1 / jnp.where(centre == 0, 1, centre))
    return lambda x: inverse * x


def _check(A: SparseMatrix, b: Any, method: str, preconditioner: str) -> None:
    if A.shape[0] != A.shape[1]:
        raise InvalidArgument(
            f"the matrix is {A.shape[0]} x {A.shape[1]}, not square",
            pointer="/args/0",
            hint="least squares: solve A.T @ A @ x = A.T @ b, or use least_squares",
        )
    if jnp.ndim(b) not in (1, 2) or jnp.shape(b)[0] != A.shape[0]:
        raise InvalidArgument(
            f"the right-hand side {jnp.shape(b)} does not fit {A.shape}", pointer="/args/1"
        )
    for name, value, known in (
        ("method", method, METHODS),
        ("preconditioner", preconditioner, PRECONDITIONERS),
    ):
        if value not in known:
            raise InvalidArgument(
                f"{name} {value!r} is unknown", pointer=f"/{name}", hint=f"one of {known}"
            )
