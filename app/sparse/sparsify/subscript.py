"""``A[i]``, ``A[i, j]``, ``A[:, j]``, ``A[a:b, c:d]``: single rows and columns come dense."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import SparseMatrix, from_entries

ADVICE = "index by integers and slices; for a choice of rows write S @ A with a sparse S"


def getitem(A: SparseMatrix, index: Any) -> Any:
    """A number, a dense row or column, or a sparse block. O(nnz), sorting for blocks."""
    places = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [place for place in places if not hasattr(place, "shape")]:
        at = places.index(Ellipsis)
        places[at : at + 1] = [slice(None)] * (3 - len(places))
    places += [slice(None)] * (2 - len(places))
    if len(places) != 2 or any(place is None for place in places):
        raise RefusedSource("a sparse matrix has two dimensions to index", hint=ADVICE)
    row, col = places
    if isinstance(row, slice) and isinstance(col, slice):
        return _block(A, row, col)
    if isinstance(row, slice):
        return (A @ _unit(col, A.shape[1], A.dtype))[row]
    along = A.T @ _unit(row, A.shape[0], A.dtype)
    return along[col] if isinstance(col, slice) else along[_checked(col, A.shape[1])]


def _unit(place: Any, size: int, dtype: Any) -> jax.Array:
    return jax.nn.one_hot(_checked(place, size), size, dtype=dtype)


def _checked(place: Any, size: int) -> Any:
    """An index as one number of 0 … size - 1; negative ones count from the end."""
    if isinstance(place, (bool, np.bool_)) or jnp.ndim(place) != 0:
        raise RefusedSource("a sparse matrix is not indexed by arrays", hint=ADVICE)
    if not jnp.issubdtype(jnp.result_type(place), jnp.integer):
        raise InvalidArgument(f"a matrix is indexed by integers, not {place}")
    if isinstance(place, (int, np.integer)):
        if not -size <= place < size:
            raise InvalidArgument(f"index {place} is out of range for size {size}")
        return int(place) % size
    return jnp.where(place < 0, place + size, place)


def _block(A: SparseMatrix, row: slice, col: slice) -> SparseMatrix:
    if row == slice(None) and col == slice(None):
        return A
    try:
        ranges = [range(*one.indices(size)) for one, size in zip((row, col), A.shape, strict=True)]
    except TypeError:
        raise RefusedSource(
            "a slice of a sparse matrix needs bounds known while tracing",
            hint="write numbers into the slice",
        ) from None
    kept = A.valid()
    places = []
    for place, among in zip(A.coordinates(), ranges, strict=True):
        step, rest = jnp.divmod(place - among.start, among.step)
        kept = kept & (rest == 0) & (step >= 0) & (step < len(among))
        places.append(step)
    shape = (len(ranges[0]), len(ranges[1]))
    rows = jnp.where(kept, places[0], shape[0])
    return from_entries(rows, jnp.where(kept, places[1], shape[1]), A.values, shape)


TABLE = {"getitem": getitem}
