"""The one form that sparse values have inside: canonical CSR, with the way back to the client's.

Rows in order, columns rising within each row, no cell twice, int32 indices, explicit zeros kept.
Leading batch dimensions share one capacity; what is unused of it is padding (see ``bucket``).
NumPy only: the API process makes these, workers receive their three arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from app.core.values import Aval, SparseValue
from app.sparse.bucket import bucket


@dataclass(frozen=True, slots=True)
class Canonical:
    """Canonical CSR of ``shape`` (rows, columns), under leading ``batch`` dimensions.

    ``values`` and ``indices`` are ``(*batch, capacity)``, ``indptr`` is ``(*batch, rows + 1)``.
    Entries from ``indptr[-1]`` on are padding: value 0, column ``shape[1]``, in no row.
    ``cells`` gives, for each entry the client sent, in the client's order, its place in
    ``values`` (-1: the client's own padding); ``None`` when the orders are the same.
    """

    shape: tuple[int, int]
    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    cells: np.ndarray | None = None

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions; ``()`` for one matrix."""
        return self.indptr.shape[:-1]

    @property
    def nnz(self) -> int:
        """Stored entries without padding; the largest over the batch."""
        return int(self.indptr[..., -1].max(initial=0))

    @property
    def capacity(self) -> int:
        """Entries that the arrays have room for."""
        return self.values.shape[-1]

    def each(self) -> Iterator[Canonical]:
        """Every matrix of a batch, without ``cells``; the matrix itself where there is no batch."""
        for at in np.ndindex(self.batch):
            yield Canonical(self.shape, self.values[at], self.indices[at], self.indptr[at])

    @property
    def entries(self) -> int:
        """Stored entries without padding, of all matrices of a batch together."""
        return int(self.indptr[..., -1].sum())

    @property
    def repeats(self) -> bool:
        """Whether the client sent a cell more than once."""
        if self.cells is None:
            return False
        return int(np.count_nonzero(self.cells >= 0)) > self.entries

    def holding(self, values: np.ndarray) -> Canonical:
        """The same cells with other values, ``(..., capacity')``: leading axes become a batch."""
        batch = values.shape[:-1]
        return Canonical(
            self.shape,
            values[..., : self.capacity],
            np.broadcast_to(self.indices, (*batch, self.capacity)),
            np.broadcast_to(self.indptr, (*batch, self.shape[0] + 1)),
        )

    def padded(self, capacity: int | None = None) -> Canonical:
        """The same matrix with room for ``capacity`` entries (default: the bucket of its nnz)."""
        capacity = bucket(self.nnz) if capacity is None else capacity
        if capacity == self.capacity:
            return self
        kept = min(capacity, self.capacity)
        values = np.zeros((*self.batch, capacity), self.values.dtype)
        indices = np.full((*self.batch, capacity), self.shape[1], np.int32)
        values[..., :kept] = self.values[..., :kept]
        indices[..., :kept] = self.indices[..., :kept]
        return replace(self, values=values, indices=indices)

    def aval(self) -> Aval:
        """What a program is compiled for: every layout is CSR inside, nnz is bucketed."""
        return Aval(self.values.dtype.name, (*self.batch, *self.shape), "csr", bucket(self.nnz))

    def rows(self) -> np.ndarray:
        """The row of every entry of an unbatched matrix, padding left out; int32."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))

    def to_client(self, values: np.ndarray) -> np.ndarray:
        """Values per canonical cell, laid out per entry of the client: duplicates share theirs.

        ``values`` is ``(..., capacity')`` with any capacity that holds every cell, such as the
        gradient of a padded program; leading dimensions beyond the batch are kept.
        """
        if self.cells is None:
            return values[..., : self.capacity]
        if not self.batch:
            return _take(values, self.cells)
        cells = np.broadcast_to(self.cells, (*values.shape[:-1], self.cells.shape[-1]))
        taken = np.take_along_axis(values, np.maximum(cells, 0), axis=-1)
        return np.where(cells < 0, np.zeros((), values.dtype), taken)


def _take(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    taken = values[..., np.maximum(cells, 0)] if values.shape[-1] else _zeros_like(values, cells)
    if cells.size and cells.min() < 0:
        taken[..., cells < 0] = 0
    return taken


def _zeros_like(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    return np.zeros((*values.shape[:-1], cells.size), values.dtype)


def from_entries(
    rows: np.ndarray, cols: np.ndarray, values: np.ndarray, shape: tuple[int, int]
) -> Canonical:
    """Canonical CSR of valid entries in any order; O(nnz), or O(nnz log nnz) when unsorted."""
    key = rows.astype(np.int64) * shape[1] + cols
    if np.all(key[1:] > key[:-1]):
        return Canonical(shape, values, cols, _indptr(rows, shape[0]))
    order = np.argsort(key, kind="stable")
    key = key[order]
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    cells = np.empty(len(order), np.int32)
    cells[order] = np.repeat(
        np.arange(len(begins), dtype=np.int32), np.diff(begins, append=len(order))
    )
    merged = values[order]
    if len(begins) < len(order):
        with np.errstate(over="ignore", invalid="ignore"):
            merged = np.add.reduceat(merged, begins, dtype=values.dtype)
    kept = order[begins]
    return Canonical(shape, merged, cols[kept], _indptr(rows[kept], shape[0]), cells)


def _indptr(rows: np.ndarray, size: int) -> np.ndarray:
    indptr = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=size), out=indptr[1:])
    return indptr


def with_values(value: SparseValue, values: np.ndarray) -> SparseValue:
    """The client's own layout, order and indices holding other values (of its entries)."""
    return SparseValue(value.layout, value.shape, {**value.parts, "values": values})
