"""Sums, means, variances, extremes and norms of a matrix, over all of it, rows or columns.

``axis=0`` leaves one number a column, ``axis=1`` one a row, as dense arrays. The zeros that are
not stored count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from app.core.errors import InvalidArgument
from app.sparse.kernels.portable import gather
from app.sparse.matrix import SparseMatrix, segment
from app.sparse.sparsify.refusals import would_fill


def total(
    A: SparseMatrix, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> jax.Array:
    """``jnp.sum``; O(nnz)."""
    values = A.stored_values()
    values = values if dtype is None else values.astype(dtype)
    if not jnp.issubdtype(values.dtype, jnp.inexact):
        values = values.astype(jnp.sum(values[:0]).dtype)
    kept, count = _segments(A, axis)
    sums = values.sum() if kept is None else segment(values, kept, count)
    return _shaped(sums, A, axis, keepdims)


def mean(A: SparseMatrix, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> jax.Array:
    """``jnp.mean``: over all cells, stored or not."""
    return total(A, axis, dtype, keepdims) / _cells(A, axis)


def var(
    A: SparseMatrix,
    axis: Any = None,
    dtype: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    correction: int = 0,
) -> jax.Array:
    """``jnp.var``: stored entries' squared distances, and the mean's for every other cell."""
    centre = mean(A, axis, dtype)
    kept, count = _segments(A, axis)
    valid = A.valid()
    at = centre if kept is None else gather(centre, kept)
    distance = jnp.where(valid, jnp.abs(A.values - at) ** 2, 0)
    ones = valid.astype(distance.dtype)
    if kept is None:
        spread, stored = distance.sum(), ones.sum()
    else:
        spread, stored = segment(distance, kept, count), segment(ones, kept, count)
    cells = _cells(A, axis)
    spread = spread + (cells - stored) * jnp.abs(centre) ** 2
    return _shaped(spread / (cells - ddof - correction), A, axis, keepdims)


def std(A: SparseMatrix, *args: Any, **named: Any) -> jax.Array:
    """``jnp.std``."""
    return jnp.sqrt(var(A, *args, **named))


def extreme(
    sign: int, A: SparseMatrix, axis: Any = None, keepdims: bool = False, **named: Any
) -> jax.Array:
    """``jnp.max`` (sign 1) or ``jnp.min`` (-1); ties share the derivative evenly, as there."""
    if named:
        raise InvalidArgument(f"{', '.join(named)} is not taken with a sparse matrix")
    cells = _cells(A, axis)
    if not cells:
        raise InvalidArgument("the extreme of no values has no meaning")
    kept, count = _segments(A, axis)
    kept = jnp.where(A.valid(), 0, 1) if kept is None else kept
    count = 1 if _segments(A, axis)[0] is None else count
    fixed = jax.lax.stop_gradient(A.values)
    best = sign * jax.ops.segment_max(sign * fixed, kept, count)
    stored = segment(A.valid().astype(jnp.int32), kept, count)
    zero = jnp.zeros((), best.dtype)
    better = jnp.maximum(sign * best, zero) * sign
    best = jnp.where(stored == 0, zero, jnp.where(stored < cells, better, best))
    at = gather(best, kept)
    ties = A.valid() & ((fixed == at) | jnp.isnan(fixed) & jnp.isnan(at))
    number = segment(ties.astype(jnp.int32), kept, count)
    number = number + jnp.where(best == 0, cells - stored, 0)
    sums = segment(jnp.where(ties, A.values, 0), kept, count)
    result = (sums / number).astype(A.dtype)
    return _shaped(result[0] if axis is None else result, A, axis, keepdims)


def nonzeros(A: SparseMatrix, axis: Any = None, keepdims: bool = False) -> jax.Array:
    """``jnp.count_nonzero``: stored zeros do not count."""
    return total(A.map(lambda values: (values != 0).astype(jnp.int32)), axis, None, keepdims)


def some(A: SparseMatrix, axis: Any = None, keepdims: bool = False) -> jax.Array:
    """``jnp.any``."""
    return nonzeros(A, axis, keepdims) > 0


def every(A: SparseMatrix, axis: Any = None, keepdims: bool = False) -> jax.Array:
    """``jnp.all``."""
    return nonzeros(A, axis, keepdims) == _cells(A, axis)


def norm(  # ``ord`` is the name that callers know
    A: SparseMatrix,
    ord: Any = None,  # noqa: A002
    axis: Any = None,
    keepdims: bool = False,
) -> jax.Array:
    """``jnp.linalg.norm``: Frobenius, 1, infinity, or the 2-norm of rows or columns."""
    if axis is None and ord in (None, "fro"):
        return _shaped(jnp.linalg.norm(A.stored_values()), A, axis, keepdims)
    if axis is None and ord in (1, math.inf):
        return _shaped(total(A.map(jnp.abs), 0 if ord == 1 else 1).max(), A, axis, keepdims)
    if axis is not None and ord in (None, 2):
        return jnp.sqrt(total(A.map(lambda v: jnp.abs(v) ** 2), axis, None, keepdims))
    raise would_fill(f"the norm of order {ord}", A)


def _axes(A: SparseMatrix, axis: Any) -> tuple[int, ...]:
    axes = (0, 1) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if not all(type(one) is int and -2 <= one < 2 for one in axes):
        raise InvalidArgument(f"a matrix has the axes 0 and 1, not {axis}")
    return tuple(sorted({one % 2 for one in axes}))


def _segments(A: SparseMatrix, axis: Any) -> tuple[jax.Array | None, int]:
    """The place in the result of each entry, and the result's length."""
    axes = _axes(A, axis)
    if len(axes) != 1:
        return None, 1
    kept = 1 - axes[0]
    return A.coordinates()[kept], A.shape[kept]


def _cells(A: SparseMatrix, axis: Any) -> int:
    return math.prod(A.shape[one] for one in _axes(A, axis))


def _shaped(result: jax.Array, A: SparseMatrix, axis: Any, keepdims: bool) -> jax.Array:
    if not keepdims:
        return result
    axes = _axes(A, axis)
    return result.reshape(tuple(1 if i in axes else size for i, size in enumerate(A.shape)))


TABLE: dict[str, Callable[..., Any]] = {
    "sum": total,
    "mean": mean,
    "average": mean,
    "var": var,
    "std": std,
    "max": partial(extreme, 1),
    "amax": partial(extreme, 1),
    "min": partial(extreme, -1),
    "amin": partial(extreme, -1),
    "count_nonzero": nonzeros,
    "any": some,
    "all": every,
    "norm": norm,
}
