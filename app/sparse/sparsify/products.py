"""Products: matrix with vector, matrix with dense, dense with matrix, matrix with matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import MAX_DENSE, SparseMatrix, pattern_of
from app.sparse.sparsify.binary import multiply


def matmul(a: Any, b: Any, **named: Any) -> Any:
    """``a @ b`` with either or both sparse; sparse by sparse is sparse. O(nnz k)."""
    if isinstance(a, SparseMatrix) and isinstance(b, SparseMatrix):
        return sparse_sparse(a, b)
    if isinstance(a, SparseMatrix):
        return _times(a, jnp.asarray(b))
    X = jnp.asarray(a)
    if X.ndim == 0:
        raise InvalidArgument("@ takes no numbers", hint="write *")
    if X.ndim == 1:
        return _times(b.T, X)
    return jnp.swapaxes(_times(b.T, jnp.swapaxes(X, -1, -2)), -1, -2)


def dot(a: Any, b: Any, **named: Any) -> Any:
    """``jnp.dot``: like ``@``, and scaling where one side is a number."""
    if jnp.ndim(0 if isinstance(a, SparseMatrix) else a) == 0 and not isinstance(a, SparseMatrix):
        return multiply(b, a)
    if not isinstance(b, SparseMatrix) and jnp.ndim(b) == 0:
        return multiply(a, b)
    return matmul(a, b)


def _times(A: SparseMatrix, X: jax.Array) -> jax.Array:
    size = X.shape[0] if X.ndim == 1 else X.shape[-2] if X.ndim else None
    if size != A.shape[1]:
        raise InvalidArgument(f"shapes {A.shape} and {X.shape} do not fit for @")
    if X.ndim <= 2:
        return A @ X
    lead = X.shape[:-2]
    flat = jax.vmap(lambda x: A @ x)(X.reshape(-1, *X.shape[-2:]))
    return flat.reshape(*lead, *flat.shape[1:])


def sparse_sparse(A: SparseMatrix, B: SparseMatrix) -> SparseMatrix:
    """The sparse product of two sparse matrices.

    The pattern of the result depends on values known only at run time, so it is computed by way
    of dense B, within 2^26 cells; entries that only cancel stay stored. O(nnz(A) columns(B)).
    """
    if A.shape[1] != B.shape[0]:
        raise InvalidArgument(f"shapes {A.shape} and {B.shape} do not fit for @")
    shape = (A.shape[0], B.shape[1])
    for size in (shape, B.shape):
        if math.prod(size) > MAX_DENSE:
            raise RefusedSource(
                f"the product of two sparse matrices passes by {size[0]} x {size[1]} cells, "
                f"more than {MAX_DENSE}",
                hint="write A @ (B @ x), which never makes the product",
            )
    product = A @ B.todense()
    ones = [M.map(lambda v: jnp.ones_like(v, jnp.float32)) for M in (A, B)]
    reached = ones[0] @ ones[1].todense() > 0
    rows, cols = jnp.nonzero(reached, size=math.prod(shape), fill_value=shape)
    pattern, _ = pattern_of(rows, cols, shape)
    return pattern.with_values(product.at[rows, cols].get(mode="fill", fill_value=0))


def diagonal(A: SparseMatrix, offset: int = 0, **named: Any) -> jax.Array:
    """``jnp.diagonal`` as a dense vector."""
    row, col = A.coordinates()
    start = (max(0, -offset), max(0, offset))
    length = max(0, min(A.shape[0] - start[0], A.shape[1] - start[1]))
    on = A.valid() & (col - row == offset)
    place = jnp.where(on, row - start[0], length)
    if A.dtype == jnp.bool_:
        return jnp.zeros(length, bool).at[place].max(A.values, mode="drop")
    return jnp.zeros(length, A.dtype).at[place].add(A.values, mode="drop")


def trace(A: SparseMatrix, offset: int = 0, **named: Any) -> jax.Array:
    """``jnp.trace``."""
    row, col = A.coordinates()
    return jnp.where(A.valid() & (col - row == offset), A.values, 0).sum()


def vdot(a: SparseMatrix, b: SparseMatrix) -> jax.Array:
    """``jnp.vdot``: the sum of conj(a) * b over all cells."""
    first = a.map(jnp.conj) if isinstance(a, SparseMatrix) else jnp.conj(a)
    return multiply(first, b).values.sum()


TABLE: dict[str, Callable[..., Any]] = {
    "matmul": matmul,
    "dot": dot,
    "diagonal": diagonal,
    "diag": diagonal,
    "trace": trace,
    "vdot": vdot,
}
