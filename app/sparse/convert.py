"""Between all layouts, on the host; never to dense unless asked, and then within a bound."""

from __future__ import annotations

import math

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
    if value.layout == "bcoo" and value.parts["indices"].shape[-1] != 2:
        raise _stays_bcoo(value.parts["indices"].shape[-1])
    return to_layout(ingest(value), layout)


def to_layout(matrix: Canonical, layout: str) -> SparseValue:
    """A canonical matrix as a value of ``layout``; padding is left out of unbatched ones."""
    if matrix.batch and layout not in ("bcoo", "bcsr"):
        raise InvalidArgument(
            f"{layout} holds one matrix, not a batch", hint="Batches are bcoo or bcsr."
        )
    shape = (*matrix.batch, *matrix.shape)
    matrix = matrix.padded(matrix.nnz)
    values, indices, indptr = matrix.values, matrix.indices, matrix.indptr
    match layout:
        case "csr" | "bcsr":
            parts = {"indptr": indptr, "indices": indices, "values": values}
        case "coo":
            parts = {"row": matrix.rows(), "col": indices, "values": values}
        case "csc":
            parts = _csc(matrix)
        case _:
            parts = {"indices": np.stack([_rows(matrix), indices], axis=-1), "values": values}
    return SparseValue(layout, shape, parts)


def in_layout_of(value: SparseValue, matrix: Canonical, layout: str | None = None) -> SparseValue:
    """``matrix``, on the cells of ``value`` or a batch of such, one entry a cell in row order.

    ``layout``: default that of ``value``, where ``matrix`` has more batch axes bcsr or bcoo.
    """
    more = len(matrix.batch) > (value.parts["values"].ndim - 1)
    compressed = value.layout in ("csr", "bcsr")
    usual = ("bcsr" if compressed else "bcoo") if more else value.layout
    if value.layout != "bcoo" or value.parts["indices"].shape[-1] == 2:
        return to_layout(matrix, layout or usual)
    sparse = value.parts["indices"].shape[-1]
    if layout not in (None, "bcoo"):
        raise _stays_bcoo(sparse)
    core = value.shape[len(value.shape) - sparse :]
    matrix = matrix.padded(matrix.nnz)
    rows = _rows(matrix)
    real = rows < matrix.shape[0]
    leading = np.unravel_index(np.where(real, rows, 0), core[:-1]) if core[:-1] else ()
    sizes = zip(leading, core[:-1], strict=True)
    columns = [np.where(real, part, size).astype(np.int32) for part, size in sizes]
    parts = {"indices": np.stack([*columns, matrix.indices], axis=-1), "values": matrix.values}
    return SparseValue("bcoo", (*matrix.batch, *core), parts)


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
    rows, cols = _rows(matrix), matrix.indices
    for at in np.ndindex(matrix.batch):
        nnz = int(matrix.indptr[at][-1])
        dense[at][rows[at][:nnz], cols[at][:nnz]] = matrix.values[at][:nnz]
    return dense.reshape(value.shape)


def _csc(matrix: Canonical) -> dict[str, np.ndarray]:
    order = np.argsort(matrix.indices, kind="stable")
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return {"indptr": indptr, "indices": matrix.rows()[order], "values": matrix.values[order]}


def _rows(matrix: Canonical) -> np.ndarray:
    """The row of every entry, batched; padding is in the row one past the last."""
    if not matrix.batch and matrix.nnz == matrix.capacity:
        return matrix.rows()
    rows = np.full((*matrix.batch, matrix.capacity), matrix.shape[0], np.int32)
    for at in np.ndindex(matrix.batch):
        counts = np.diff(matrix.indptr[at])
        rows[at][: matrix.indptr[at][-1]] = np.repeat(
            np.arange(matrix.shape[0], dtype=np.int32), counts
        )
    return rows
