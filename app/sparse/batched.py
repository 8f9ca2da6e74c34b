"""bcoo and bcsr, with leading batch dimensions, checked and made canonical CSR. NumPy only.

JAX pads these: a bcoo entry whose every index equals the size and whose value is 0, and bcsr
entries past the end of indptr, are padding and are taken as such.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from app.core.errors import InvalidArgument, LimitExceeded
from app.sparse import validate
from app.sparse.canonical import Canonical, from_entries
from app.sparse.compressed import compressed

MAX_BATCH = 4096


def bcoo(shape: tuple[int, ...], parts: dict[str, np.ndarray], max_rows: int) -> Canonical:
    indices, values = parts["indices"], parts["values"]
    if not indices.size and not values.size and indices.ndim == values.ndim:
        # Written as bare lists, no pairs of numbers are no pairs: [] has lost an axis.
        indices = indices.reshape(*indices.shape, max(0, len(shape) - values.ndim + 1))
    if indices.ndim < 2:
        raise InvalidArgument(
            "indices of bcoo must be (…, entries, dimensions)", pointer="/indices"
        )
    batch, sparse = indices.ndim - 2, indices.shape[-1]
    if values.ndim != batch + 1 or len(shape) != batch + sparse:
        raise InvalidArgument(
            f"bcoo indices of shape {indices.shape} do not fit values of shape {values.shape} "
            f"in an array of {len(shape)} dimensions",
            pointer="/indices",
            hint="indices (*batch, entries, sparse dimensions), values (*batch, entries); "
            "dense trailing dimensions are not taken.",
        )
    if not sparse:
        raise InvalidArgument("bcoo needs a sparse dimension", pointer="/indices")
    indices = _over_batch(indices, values, shape[:batch], "indices", 1)
    values = _over_batch(values, values, shape[:batch], "values", 0)
    core = shape[batch:]
    size = (math.prod(core[:-1]), core[-1])
    validate.check_shape(size)
    validate.check_count(values.size)
    validate.check_rows(size[0], values.shape[-1], max_rows)
    return _stack(
        shape[:batch],
        size,
        values.dtype,
        lambda at: _bcoo_one(indices[at], values[at], core, size),
    )


def _bcoo_one(
    indices: np.ndarray, values: np.ndarray, core: tuple[int, ...], size: tuple[int, int]
) -> Canonical:
    indices = validate.integers(indices, "indices")
    padding = np.all(indices == np.asarray(core), axis=-1) & (values == 0)
    kept = indices[~padding] if padding.any() else indices
    for axis, bound in enumerate(core):
        column = kept[:, axis]
        if column.size and not (int(column.min()) >= 0 and int(column.max()) < bound):
            bad = ((indices[:, axis] < 0) | (indices[:, axis] >= bound)) & ~padding
            place = validate.first(bad)[0]
            pointer = validate.point("indices", (place, axis))
            validate.refuse_index(int(indices[place, axis]), bound, pointer, int(column.min()))
    columns = kept.astype(np.int64).T
    rows = np.zeros(len(kept), np.int64)
    for axis in range(len(core) - 1):
        rows = rows * core[axis] + columns[axis]
    cols = columns[-1].astype(np.int32)
    if not padding.any():
        return from_entries(rows.astype(np.int32), cols, values, size)
    return _expanded(from_entries(rows.astype(np.int32), cols, values[~padding], size), ~padding)


def _expanded(inner: Canonical, kept: np.ndarray) -> Canonical:
    """``inner`` was made of the ``kept`` entries only; its map must speak of all of them."""
    cells = np.full(len(kept), -1, np.int32)
    cells[kept] = np.arange(inner.capacity) if inner.cells is None else inner.cells
    return Canonical(inner.shape, inner.values, inner.indices, inner.indptr, cells)


def bcsr(shape: tuple[int, ...], parts: dict[str, np.ndarray], max_rows: int) -> Canonical:
    indptr, indices, values = parts["indptr"], parts["indices"], parts["values"]
    batch = len(shape) - 2
    if batch < 0:
        raise InvalidArgument("bcsr needs two dimensions or more", pointer="/shape")
    for name in ("indptr", "indices", "values"):
        validate.check_ndim(parts[name], batch + 1, name)
    size = (shape[-2], shape[-1])
    validate.check_length(indptr, size[0] + 1, "indptr", "the shape of a bcsr")
    validate.check_length(indices, values.shape[-1], "indices", "values")
    indptr = _over_batch(indptr, values, shape[:batch], "indptr", 0)
    indices = _over_batch(indices, values, shape[:batch], "indices", 0)
    values = _over_batch(values, values, shape[:batch], "values", 0)
    validate.check_count(values.size)
    validate.check_rows(size[0], values.shape[-1], max_rows)
    return _stack(
        shape[:batch],
        size,
        values.dtype,
        lambda at: _bcsr_one(indptr[at], indices[at], values[at], size),
    )


def _bcsr_one(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, size: tuple[int, int]
) -> Canonical:
    indptr = validate.pointers(indptr, len(values), spare=True)
    kept = np.arange(len(values)) < indptr[-1]
    if kept.all():
        parts = {"indptr": indptr, "indices": indices, "values": values}
        return compressed("csr", size, parts, size[0])
    nnz = int(indptr[-1])
    parts = {"indptr": indptr, "indices": indices[:nnz], "values": values[:nnz]}
    return _expanded(compressed("csr", size, parts, size[0]), kept)


def _over_batch(
    part: np.ndarray, values: np.ndarray, batch: tuple[int, ...], name: str, tail: int
) -> np.ndarray:
    """``part`` with its batch dimensions at full size; those of size 1 are shared, as in JAX."""
    inner = part.shape[len(batch) :]
    fits = all(have in (want, 1) for have, want in zip(part.shape, batch, strict=False))
    if not fits or (tail and inner[0] != values.shape[-1]):
        raise InvalidArgument(
            f"{name} of shape {part.shape} do not fit the batch {batch} "
            f"and values of shape {values.shape}",
            pointer=f"/{name}",
        )
    if math.prod(batch) > MAX_BATCH:
        raise LimitExceeded(
            f"{math.prod(batch)} matrices in one batch are more than {MAX_BATCH}",
            pointer="/shape",
        )
    return np.broadcast_to(part, (*batch, *inner))


def _stack(
    batch: tuple[int, ...],
    size: tuple[int, int],
    dtype: np.dtype,
    one: Callable[[tuple[int, ...]], Canonical],
) -> Canonical:
    """Canonical matrices of a batch under one capacity."""
    if not batch:
        return one(())
    items = []
    for at in np.ndindex(batch):
        try:
            items.append(one(at))
        except InvalidArgument as error:
            error.pointer = _deeper(error.pointer, at)
            raise
    capacity = max((item.nnz for item in items), default=0)
    items = [item.padded(capacity) for item in items]
    if not items:
        empty = np.zeros((*batch, size[0] + 1), np.int32)
        none = np.zeros((*batch, 0), np.int32)
        return Canonical(size, none.astype(dtype), none, empty)

    def joined(arrays: list[np.ndarray]) -> np.ndarray:
        return np.stack(arrays).reshape(*batch, -1)

    cells = None
    if any(item.cells is not None for item in items) or any(i.nnz != capacity for i in items):
        cells = joined([_cells(item) for item in items])
    return Canonical(
        size,
        joined([item.values for item in items]),
        joined([item.indices for item in items]),
        joined([item.indptr for item in items]),
        cells,
    )


def _cells(item: Canonical) -> np.ndarray:
    return np.arange(item.nnz, dtype=np.int32) if item.cells is None else item.cells


def _deeper(pointer: str | None, at: tuple[int, ...]) -> str | None:
    if pointer is None or not at:
        return pointer
    _, name, *rest = pointer.split("/")
    return "/".join(("", name, *(str(i) for i in at), *rest))
