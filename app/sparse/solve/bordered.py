"""How eigenpairs follow a change of their matrix: one bordered system a pair.

    | A - w I   -s v | | dv   |     | -dA v |
    | s v^H       0  | | dw/s |  =  |   0   |

It is regular exactly where w is a simple eigenvalue, symmetric matrix or not, and needs no left
eigenvector: in reverse mode its transpose finds that one. s is the size of A, which keeps the
smallest singular value the distance to the nearest other eigenvalue.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from app.sparse.matrix import SparseMatrix, in_cells, pattern_of
from app.sparse.solve import direct
from app.sparse.solve.solver import Matrix


def along(A: Matrix, change: Matrix, w: jax.Array, V: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The tangents of values ``w`` (k,) and vectors ``V`` (n, k); NaN for repeated values."""
    size = jax.lax.stop_gradient(_size(A))
    right = -(_typed(change, V.dtype) @ V)
    right = jnp.concatenate([right, jnp.zeros((1, right.shape[1]), right.dtype)])
    least = float(jnp.finfo(V.dtype).eps) ** 0.5
    build = _sparse(A, size) if isinstance(A, SparseMatrix) else _dense(A, size)

    def one(value: jax.Array, vector: jax.Array, b: jax.Array) -> jax.Array:
        B = build(value, vector)
        solver = direct.regular_solver(B, least * size)
        return jax.lax.custom_linear_solve(
            B.__matmul__,
            b,
            lambda _, rhs: solver(False, rhs),
            lambda _, rhs: solver(True, rhs),
        )

    found = jax.vmap(one, (0, 1, 1), 1)(w, V, right)
    dw = found[-1] * size
    real = not jnp.issubdtype(w.dtype, jnp.complexfloating)
    return (dw.real if real else dw).astype(w.dtype), found[:-1]


def _typed(A: Matrix, dtype: Any) -> Matrix:
    return A.map(lambda x: x.astype(dtype)) if isinstance(A, SparseMatrix) else A.astype(dtype)


def _size(A: Matrix) -> jax.Array:
    """The largest row sum of |A|; 1 for a matrix of zeros."""
    if isinstance(A, SparseMatrix):
        ones = jnp.ones(A.shape[1], jnp.abs(A.values).dtype)
        sums = A.map(jnp.abs) @ ones
    else:
        sums = jnp.sum(jnp.abs(A), axis=1)
    size = jnp.max(sums, initial=0)
    return jnp.where(size > 0, size, 1)


def _dense(A: jax.Array, size: jax.Array) -> Any:
    def build(w: jax.Array, v: jax.Array) -> jax.Array:
        centre = A.astype(v.dtype) - w * jnp.eye(A.shape[0], dtype=v.dtype)
        top = jnp.concatenate([centre, -size * v[:, None]], axis=1)
        foot = jnp.concatenate([size * v.conj(), jnp.zeros(1, v.dtype)])
        return jnp.concatenate([top, foot[None, :]])

    return build


def _sparse(A: SparseMatrix, size: jax.Array) -> Any:
    n = A.shape[0]
    line, last = jnp.arange(n, dtype=jnp.int32), jnp.full(n, n, jnp.int32)
    inner = [jnp.where(A.valid(), place, n + 1) for place in A.coordinates()]
    rows = jnp.concatenate([inner[0], line, line, last])
    cols = jnp.concatenate([inner[1], line, last, line])
    pattern, cells = pattern_of(rows, cols, (n + 1, n + 1))

    def build(w: jax.Array, v: jax.Array) -> SparseMatrix:
        centre = jnp.broadcast_to(-w, (n,)).astype(v.dtype)
        parts = [A.values.astype(v.dtype), centre, -size * v, size * v.conj()]
        return pattern.with_values(in_cells(jnp.concatenate(parts), cells))

    return build
