"""Between all layouts, on the host; never to dense unless asked, and then within a bound."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from app.core.errors import InvalidArgument, TooLarge
from app.core.values import SparseValue
from app.sparse.canonical import Canonical
from app.sparse.ingest import ingest
from app.sparse.validate import PARTS

MAX_DENSE_BYTES = 2**28


def convert(value: SparseValue, layout: str) -> SparseValue:
    """``value`` in another sparse layout: checked, entries in order, duplicates summed.

    The same layout comes back as it is. Batches convert between bcoo and bcsr.
    Raises InvalidArgument where a layout cannot hold the shape. O(nnz log nnz) at most.
    """
    if layout == value.layout:
        return value
    if layout not in PARTS:
        raise InvalidArgument(
            f"{layout!r} is not a sparse layout", hint=f"They are {', '.join(PARTS)}."
        )
    if _sparse_axes(value) != 2:
        raise _stays_bcoo(_sparse_axes(value))
    return to_layout(ingest(value), layout)


def to_layout(matrix: Canonical, layout: str) -> SparseValue:
    """A canonical matrix as a value of ``layout``; padding is left out of unbatched ones.

    In a batch it repeats the last cell of its matrix with value 0, so that every index is one.
    """
    if matrix.batch and layout not in ("bcoo", "bcsr"):
        raise InvalidArgument(
            f"{layout} holds one matrix, not a batch", hint="Batches are bcoo or bcsr."
        )
    shape = (*matrix.batch, *matrix.shape)
    matrix, rows = _filled(matrix)
    values, indices, indptr = matrix.values, matrix.indices, matrix.indptr
    match layout:
        case "csr" | "bcsr":
            parts = {"indptr": indptr, "indices": indices, "values": values}
        case "coo":
            parts = {"row": rows, "col": indices, "values": values}
        case "csc":
            parts = _csc(matrix)
        case _:
            parts = {"indices": np.stack([rows, indices], axis=-1), "values": values}
    return SparseValue(layout, shape, parts)


def in_layout_of(value: SparseValue, matrix: Canonical, layout: str | None = None) -> SparseValue:
    """``matrix``, on the cells of ``value`` or a batch of such, one entry a cell in row order.

    ``layout``: default that of ``value``, where ``matrix`` has more batch axes bcsr or bcoo.
    """
    more = len(matrix.batch) > (value.parts["values"].ndim - 1)
    compressed = value.layout in ("csr", "bcsr")
    usual = ("bcsr" if compressed else "bcoo") if more else value.layout
    sparse = _sparse_axes(value)
    if sparse == 2:
        return to_layout(matrix, layout or usual)
    if layout not in (None, "bcoo"):
        raise _stays_bcoo(sparse)
    core = value.shape[len(value.shape) - sparse :]
    matrix, rows = _filled(matrix)
    leading = np.unravel_index(rows, core[:-1]) if core[:-1] else ()
    columns = [part.astype(np.int32) for part in leading]
    parts = {"indices": np.stack([*columns, matrix.indices], axis=-1), "values": matrix.values}
    return SparseValue("bcoo", (*matrix.batch, *core), parts)


def _sparse_axes(value: SparseValue) -> int:
    """The axes that entries have an index for: 2, except in a bcoo, which may have any number."""
    return len(value.shape) - value.parts["values"].ndim + 1 if value.layout == "bcoo" else 2


def _stays_bcoo(sparse: int) -> InvalidArgument:
    return InvalidArgument(
        f"a bcoo of {sparse} sparse dimensions stays a bcoo",
        hint="Other layouts hold two sparse dimensions.",
    )


def to_dense(value: SparseValue, *, max_bytes: int = MAX_DENSE_BYTES) -> np.ndarray:
    """The dense array, duplicates summed; raises TooLarge past ``max_bytes``."""
    size = math.prod(value.shape) * value.parts["values"].dtype.itemsize
    if size > max_bytes:
        raise TooLarge(
            f"as a dense array it would take {size} bytes; the limit is {max_bytes}",
            hint="Ask for a sparse layout.",
        )
    matrix = ingest(value)
    dense = np.zeros((*matrix.batch, *matrix.shape), matrix.values.dtype)
    for at, one in zip(np.ndindex(matrix.batch), matrix.each(), strict=True):
        dense[at][one.rows(), one.indices[: one.nnz]] = one.values[: one.nnz]
    return dense.reshape(value.shape)


def _csc(matrix: Canonical) -> dict[str, np.ndarray]:
    order = np.argsort(matrix.indices, kind="stable")
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return {"indptr": indptr, "indices": matrix.rows()[order], "values": matrix.values[order]}


def _filled(matrix: Canonical) -> tuple[Canonical, np.ndarray]:
    """The matrix without needless capacity, and the row of every entry: padding at a real cell."""
    matrix = matrix.padded(matrix.nnz)
    if not matrix.batch:
        return matrix, matrix.rows()
    values = np.zeros(matrix.values.shape, matrix.values.dtype)
    rows, indices = (np.zeros(matrix.indices.shape, np.int32) for _ in range(2))
    for at, one in zip(np.ndindex(matrix.batch), matrix.each(), strict=True):
        count = one.nnz
        if count:
            values[at][:count] = one.values[:count]
            for filled, given in ((rows[at], one.rows()), (indices[at], one.indices[:count])):
                filled[:count], filled[count:] = given, given[-1]
    return replace(matrix, values=values, indices=indices), rows
