"""What a matrix says about itself, and what changes its form but not its values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import SparseMatrix, from_entries


def transpose(A: SparseMatrix, *axes: Any, **named: Any) -> SparseMatrix:
    """``A.T``; other orders of two axes are the identity."""
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
    order = named.get("axes", named.get("permutation", order)) or (1, 0)
    return A if [axis % 2 for axis in order] == [0, 1] else A.T


def swapaxes(A: SparseMatrix, axis1: int, axis2: int) -> SparseMatrix:
    """``A.T`` where the axes differ."""
    return A if axis1 % 2 == axis2 % 2 else A.T


def reshape(A: SparseMatrix, *shape: Any, **named: Any) -> SparseMatrix:
    """Another two-dimensional shape of as many cells, below 2^31."""
    wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    wanted = list(named.get("newshape", named.get("shape", wanted)))
    cells = math.prod(A.shape)
    if -1 in wanted:
        rest = math.prod(size for size in wanted if size != -1)
        wanted[wanted.index(-1)] = cells // rest if rest else 0
    if len(wanted) != 2:
        raise RefusedSource(
            f"a sparse matrix reshaped to {len(wanted)} dimensions would be dense",
            hint="write A.todense().reshape(…)",
        )
    if math.prod(wanted) != cells or cells >= 2**31:
        raise InvalidArgument(f"cannot reshape {A.shape} to {tuple(wanted)}")
    row, col = A.coordinates()
    flat = row * A.shape[1] + col
    rows = jnp.where(A.valid(), flat // max(1, wanted[1]), wanted[0])
    return from_entries(rows, flat % max(1, wanted[1]), A.values, (wanted[0], wanted[1]))


def stored_entries(A: SparseMatrix) -> jax.Array:
    """How many entries are stored; explicit zeros count."""
    return A.indptr[-1]


def same(A: SparseMatrix, *rest: Any, **named: Any) -> SparseMatrix:
    """The matrix itself: what dense code does to be sure that it has an array."""
    dtype = next((value for value in (*rest, *named.values()) if value is not None), None)
    if isinstance(dtype, (bool, int)):
        dtype = None
    return A if dtype is None else A.map(lambda values: values.astype(dtype))


def zeros_like(A: SparseMatrix, *rest: Any, **named: Any) -> SparseMatrix:
    """The same pattern, every entry 0."""
    return A.map(jnp.zeros_like)


def _shape(A: SparseMatrix) -> tuple[int, int]:
    return A.shape


def _ndim(A: SparseMatrix) -> int:
    return 2


def _size(A: SparseMatrix) -> int:
    return math.prod(A.shape)


def _dtype(A: SparseMatrix) -> Any:
    return A.dtype


def _t(A: SparseMatrix) -> SparseMatrix:
    return A.T


TABLE: dict[str, Callable[..., Any]] = {
    "attribute.T": _t,
    "attribute.mT": _t,
    "attribute.shape": _shape,
    "attribute.ndim": _ndim,
    "attribute.size": _size,
    "attribute.dtype": _dtype,
    "attribute.nse": stored_entries,
    "attribute.nnz": stored_entries,
    "shape": _shape,
    "ndim": _ndim,
    "size": _size,
    "result_type": _dtype,
    "transpose": transpose,
    "permute_dims": transpose,
    "matrix_transpose": _t,
    "swapaxes": swapaxes,
    "reshape": reshape,
    "todense": SparseMatrix.todense,
    "toarray": SparseMatrix.todense,
    "zeros_like": zeros_like,
    "stop_gradient": lambda A: jax.tree.map(jax.lax.stop_gradient, A),
    **dict.fromkeys(("asarray", "array", "copy", "atleast_2d", "block_until_ready"), same),
}
