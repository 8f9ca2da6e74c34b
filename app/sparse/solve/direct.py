"""Direct solves: SuperLU on the host for a sparse matrix, LU on the device for a dense one."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import lu_factor, lu_solve

from app.sparse.matrix import SparseMatrix
from app.sparse.solve.factors import SINGULAR, smallest_singular
from app.sparse.solve.kept import process_factors
from app.sparse.solve.solver import Matrix, Solver, scales


def solver(A: Matrix) -> Solver:
    """Solves by LU factors of A; NaN where A is singular to working precision."""
    A = jax.lax.stop_gradient(A)
    return _sparse(A, None) if isinstance(A, SparseMatrix) else _dense(A, None)


def regular_solver(A: Matrix, least: jax.Array) -> Solver:
    """As ``solver``, but NaN too where the smallest singular value of A is about ``least`` or less.

    A right-hand side of 0 gives 0 whatever A is.
    """
    A, least = jax.lax.stop_gradient((A, least))
    return _sparse(A, least) if isinstance(A, SparseMatrix) else _dense(A, least)


def _sparse(A: SparseMatrix, least: jax.Array | None) -> Solver:
    wide = jnp.complex128 if jnp.issubdtype(A.dtype, jnp.complexfloating) else jnp.float64

    def host(turned: bool, *given: Any) -> np.ndarray:
        values, indices, indptr, b, *least = (np.asarray(part) for part in given)
        if least and not b.any():
            return b
        kept = process_factors().get(values.astype(wide), indices, indptr)
        if least and not kept.smallest > least[0]:
            return np.full_like(b, np.nan)
        return kept.solve(b.astype(wide), turned).astype(b.dtype)

    def solve(turned: bool, b: jax.Array) -> jax.Array:
        return jax.pure_callback(
            partial(host, turned != A.transposed),
            jax.ShapeDtypeStruct(b.shape, b.dtype),
            *(A.values, A.indices, A.indptr, b),
            *(() if least is None else (least,)),
            vmap_method="sequential",
        )

    return solve


def _dense(A: jax.Array, least: jax.Array | None) -> Solver:
    rows = scales(A, 1)
    columns = scales(rows[:, None] * A, 0)
    lu, pivots = lu_factor(rows[:, None] * A * columns)
    smallest = jnp.min(jnp.abs(jnp.diagonal(lu)), initial=1)
    regular = smallest > SINGULAR * float(jnp.finfo(A.dtype).eps)

    def raw(turned: bool, b: jax.Array) -> jax.Array:
        before, after = (columns, rows) if turned else (rows, columns)
        if b.ndim == 2:
            before, after = before[:, None], after[:, None]
        return after * lu_solve((lu, pivots), before * b, trans=int(turned))

    if least is not None:
        regular &= smallest_singular(raw, A.shape[0], A.dtype) > least

    def solve(turned: bool, b: jax.Array) -> jax.Array:
        given = jnp.any(b != 0) if least is not None else True
        return jnp.where(regular, raw(turned, b), jnp.where(given, jnp.nan, 0))

    return solve
