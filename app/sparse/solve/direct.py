"""Direct solves: SuperLU on the host for a sparse matrix, LU on the device for a dense one."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import lu_factor, lu_solve

from app.sparse.matrix import SparseMatrix
from app.sparse.solve.factors import SINGULAR, process_factors
from app.sparse.solve.solver import Matrix, Solver


def solver(A: Matrix) -> Solver:
    """Solves by LU factors of A; NaN where A is singular to working precision."""
    A = jax.lax.stop_gradient(A)
    return _sparse(A) if isinstance(A, SparseMatrix) else _dense(A)


def _sparse(A: SparseMatrix) -> Solver:
    wide = jnp.complex128 if jnp.issubdtype(A.dtype, jnp.complexfloating) else jnp.float64

    def host(turned: bool, values: Any, indices: Any, indptr: Any, b: Any) -> np.ndarray:
        kept = process_factors().get(
            np.asarray(values, wide), np.asarray(indices), np.asarray(indptr)
        )
        return kept.solve(np.asarray(b, wide), turned).astype(b.dtype)

    def solve(turned: bool, b: jax.Array) -> jax.Array:
        return jax.pure_callback(
            partial(host, turned != A.transposed),
            jax.ShapeDtypeStruct(b.shape, b.dtype),
            A.values,
            A.indices,
            A.indptr,
            b,
            vmap_method="sequential",
        )

    return solve


def _dense(A: jax.Array) -> Solver:
    rows = _scales(A, 1)
    columns = _scales(rows[:, None] * A, 0)
    scaled = rows[:, None] * A * columns
    lu, pivots = lu_factor(scaled)
    smallest = jnp.min(jnp.abs(jnp.diagonal(lu)), initial=1)
    regular = smallest > SINGULAR * float(jnp.finfo(A.dtype).eps)

    def solve(turned: bool, b: jax.Array) -> jax.Array:
        before, after = (columns, rows) if turned else (rows, columns)
        if b.ndim == 2:
            before, after = before[:, None], after[:, None]
        x = after * lu_solve((lu, pivots), before * b, trans=int(turned))
        return jnp.where(regular, x, jnp.nan)

    return solve


def _scales(A: jax.Array, axis: int) -> jax.Array:
    """Powers of two that bring the largest entry of each row or column to about 1."""
    largest = jnp.max(jnp.abs(A), axis=axis, initial=0)
    usable = jnp.isfinite(largest) & (largest > 0)
    _, exponent = jnp.frexp(jnp.where(usable, largest, 1))
    return jnp.ldexp(jnp.ones((), largest.dtype), -exponent)
