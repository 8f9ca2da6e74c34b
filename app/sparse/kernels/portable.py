"""The three kernels in pure JAX: for accelerators, for types without C++, and without a compiler.

Padding entries lie at (rows, columns), one past the last of both: gathers fill zeros there and
scatters drop, so that they change nothing, not even where an operand holds NaN.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def entry_rows(indptr: jax.Array, capacity: int) -> jax.Array:
    """The row of each entry, ``i32[capacity]``; padding is in row ``len(indptr) - 1``."""
    marks = jnp.zeros(capacity + 1, jnp.int32).at[indptr[1:]].add(1, indices_are_sorted=True)
    return jnp.cumsum(marks, dtype=jnp.int32)[:capacity]


def gather(x: jax.Array, index: jax.Array, fill: float = 0) -> jax.Array:
    """``x[index]`` along the first axis, ``fill`` where the index is past the end."""
    if not x.shape[0]:
        return jnp.full((*index.shape, *x.shape[1:]), fill, x.dtype)
    return x.at[index].get(mode="fill", fill_value=fill)


def mm(values: jax.Array, indices: jax.Array, indptr: jax.Array, X: jax.Array, *, m: int, n: int):
    """``A @ X`` for X of ``(n,)`` or ``(n, k)``."""
    rows = entry_rows(indptr, len(indices))
    terms = _spread(values, X) * gather(X, indices)
    return jax.ops.segment_sum(terms, rows, m, indices_are_sorted=True)


def tmm(values: jax.Array, indices: jax.Array, indptr: jax.Array, X: jax.Array, *, m: int, n: int):
    """``A.T @ X`` for X of ``(m,)`` or ``(m, k)``."""
    rows = entry_rows(indptr, len(indices))
    terms = _spread(values, X) * gather(X, rows)
    return jax.ops.segment_sum(terms, indices, n)


def sddmm(W: jax.Array, indices: jax.Array, indptr: jax.Array, X: jax.Array, *, m: int, n: int):
    """``(W @ X.T)`` at the stored entries; 0 in padding."""
    terms = gather(W, entry_rows(indptr, len(indices))) * gather(X, indices)
    return terms if terms.ndim == 1 else terms.sum(axis=1, dtype=terms.dtype)


def _spread(values: jax.Array, X: jax.Array) -> jax.Array:
    return values if X.ndim == 1 else values[:, None]
