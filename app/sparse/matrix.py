"""A sparse matrix inside a traced program: a JAX pytree over canonical CSR.

Values, indices and row pointer are traced, so one program serves every matrix of a shape and
capacity. A transpose is a flag: its products use the transposed kernel. Padding entries hold 0
and lie at (rows, columns), one past the last of both; every operation keeps it so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from app.core.errors import LimitExceeded
from app.sparse.kernels import primitives
from app.sparse.kernels.portable import entry_rows

MAX_DENSE = 2**26
"""Cells that ``todense`` and products of two sparse matrices may make."""
HARMLESS = 0.5
"""Where every elementwise function and its derivatives are finite: what padding is replaced by."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """``shape`` as seen; the arrays store its transpose where ``transposed`` says so."""

    values: jax.Array
    indices: jax.Array
    indptr: jax.Array
    shape: tuple[int, int] = field(metadata={"static": True})
    transposed: bool = field(default=False, metadata={"static": True})

    @property
    def stored(self) -> tuple[int, int]:
        """The shape of what the arrays store."""
        return (self.shape[1], self.shape[0]) if self.transposed else self.shape

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.values.dtype

    @property
    def capacity(self) -> int:
        """Entries with padding."""
        return self.values.shape[-1]

    @property
    def T(self) -> SparseMatrix:  # noqa: N802
        """The transpose; costs nothing."""
        return replace(self, shape=(self.shape[1], self.shape[0]), transposed=not self.transposed)

    def valid(self) -> jax.Array:
        """Which entries are not padding: ``bool[capacity]``."""
        return jnp.arange(self.capacity, dtype=jnp.int32) < self.indptr[-1]

    def stored_values(self) -> jax.Array:
        """The values with padding 0 whatever it holds: a tangent's padding is anyone's."""
        return jnp.where(self.valid(), self.values, jnp.zeros((), self.dtype))

    def coordinates(self) -> tuple[jax.Array, jax.Array]:
        """Row and column, as seen, of every entry; ``shape`` itself for padding."""
        major = entry_rows(self.indptr, self.capacity)
        valid = self.valid()
        minor = jnp.where(valid, self.indices, self.stored[1])
        return (minor, major) if self.transposed else (major, minor)

    def with_values(self, values: jax.Array) -> SparseMatrix:
        """The same pattern holding other values; those of padding become 0."""
        zero = jnp.zeros((), values.dtype)
        return replace(self, values=jnp.where(self.valid(), values, zero))

    def map(self, function: Callable[..., jax.Array], *others: jax.Array) -> SparseMatrix:
        """``function(values, *others)`` entry by entry; padding never reaches the function."""
        return self.with_values(function(self.safe(self.values), *map(self.safe, others)))

    def safe(self, values: jax.Array) -> jax.Array:
        """``values`` of entries with padding made harmless to any function and its derivatives."""
        harmless = jnp.asarray(HARMLESS if jnp.issubdtype(values.dtype, jnp.inexact) else 1)
        return jnp.where(self.valid(), values, harmless.astype(values.dtype))

    def at_entries(self, dense: jax.Array, fill: float) -> jax.Array:
        """A dense array that broadcasts to ``shape``, read at every entry; ``fill`` at padding."""
        dense = jnp.asarray(dense)
        dense = dense.reshape((1,) * (2 - dense.ndim) + dense.shape)
        if dense.shape == (1, 1):
            return jnp.broadcast_to(dense[0, 0], (self.capacity,))
        row, col = self.coordinates()
        row = row if dense.shape[0] > 1 or self.shape[0] == 1 else jnp.zeros_like(row)
        col = col if dense.shape[1] > 1 or self.shape[1] == 1 else jnp.zeros_like(col)
        if 0 in dense.shape:
            return jnp.full(self.capacity, fill, dense.dtype)
        return dense.at[row, col].get(mode="fill", fill_value=fill)

    def __matmul__(self, X: jax.Array) -> jax.Array:
        """``self @ X`` for dense X of ``(n,)`` or ``(n, k)``."""
        product = primitives.tmm if self.transposed else primitives.mm
        return product(self.values, self.indices, self.indptr, X, self.stored)

    def todense(self) -> jax.Array:
        """The dense array; raises LimitExceeded past 2^26 cells."""
        if math.prod(self.shape) > MAX_DENSE:
            raise LimitExceeded(
                f"{self.shape[0]} x {self.shape[1]} cells as a dense array pass {MAX_DENSE}",
                hint="write products such as A @ x, which never make it",
            )
        dense = jnp.zeros(self.shape, self.dtype)
        if self.dtype == jnp.bool_:
            return dense.at[self.coordinates()].max(self.values, mode="drop")
        return dense.at[self.coordinates()].add(self.values, mode="drop")

    def canonical(self) -> SparseMatrix:
        """The same matrix stored as it is seen; sorts a transposed one, O(nnz log nnz)."""
        if not self.transposed:
            return self
        return from_entries(*self.coordinates(), self.values, self.shape)


def from_canonical(matrix: Any, padded: bool = True) -> SparseMatrix:
    """The pytree of an ``app.sparse.canonical.Canonical``, on the host still."""
    inner = matrix.padded() if padded else matrix
    return SparseMatrix(inner.values, inner.indices, inner.indptr, inner.shape)


def from_entries(
    rows: jax.Array, cols: jax.Array, values: jax.Array, shape: tuple[int, int]
) -> SparseMatrix:
    """Canonical CSR of entries in any order, duplicates summed; rows of ``shape[0]`` or more drop.

    The capacity is the number of entries given. O(nnz log nnz), on any device.
    """
    pattern, cells = pattern_of(rows, cols, shape)
    return replace(pattern, values=in_cells(values, cells))


def pattern_of(
    rows: jax.Array, cols: jax.Array, shape: tuple[int, int]
) -> tuple[SparseMatrix, jax.Array]:
    """The pattern of entries in any order (its values are 0), and the cell of each entry."""
    capacity = len(rows)
    rows, cols = rows.astype(jnp.int32), cols.astype(jnp.int32)
    kept = (rows < shape[0]) & (cols < shape[1])
    rows, cols = jnp.where(kept, rows, shape[0]), jnp.where(kept, cols, shape[1])
    place = jnp.arange(capacity, dtype=jnp.int32)
    rows, cols, order = jax.lax.sort((rows, cols, place), num_keys=2)
    if capacity:
        new = jnp.concatenate(
            [jnp.ones(1, bool), (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])]
        )
    else:
        new = jnp.zeros(0, bool)
    cell = jnp.where(rows < shape[0], jnp.cumsum(new, dtype=jnp.int32) - 1, capacity)
    unique_rows = jnp.full(capacity, shape[0], jnp.int32).at[cell].set(rows, mode="drop")
    indices = jnp.full(capacity, shape[1], jnp.int32).at[cell].set(cols, mode="drop")
    edges = jnp.arange(shape[0] + 1, dtype=jnp.int32)
    indptr = jnp.searchsorted(unique_rows, edges).astype(jnp.int32)
    cells = jnp.zeros(capacity, jnp.int32).at[order].set(cell)
    return SparseMatrix(jnp.zeros(capacity), indices, indptr, shape), cells


def in_cells(values: jax.Array, cells: jax.Array) -> jax.Array:
    """Values of entries summed into their cells; those without a cell drop."""
    if values.dtype == jnp.bool_:
        return jnp.zeros(len(cells), bool).at[cells].max(values, mode="drop")
    return jnp.zeros(len(cells), values.dtype).at[cells].add(values, mode="drop")


def same_pattern(one: SparseMatrix, other: SparseMatrix) -> bool:
    """Whether two matrices are known to store the same cells: they share their index arrays."""
    return (
        one.indices is other.indices
        and one.indptr is other.indptr
        and one.transposed == other.transposed
    )


def union(one: SparseMatrix, other: SparseMatrix) -> tuple[SparseMatrix, jax.Array, jax.Array]:
    """A pattern that holds the cells of both, and the values of each on it."""
    if same_pattern(one, other):
        return one, one.values, other.values
    coordinates = (one.coordinates(), other.coordinates())
    rows, cols = (jnp.concatenate(parts) for parts in zip(*coordinates, strict=True))
    pattern, cells = pattern_of(rows, cols, one.shape)
    left = jnp.concatenate([one.values, jnp.zeros(other.capacity, one.dtype)])
    right = jnp.concatenate([jnp.zeros(one.capacity, other.dtype), other.values])
    return pattern, in_cells(left, cells), in_cells(right, cells)


def onto(pattern: SparseMatrix, given: SparseMatrix | jax.Array) -> jax.Array:
    """The values of ``given`` at the entries of ``pattern``: 0 where it has none, or padding."""
    if not isinstance(given, SparseMatrix):
        return pattern.at_entries(given, 0)
    if same_pattern(pattern, given):
        return given.values
    coordinates = (pattern.coordinates(), given.coordinates())
    rows, cols = (jnp.concatenate(parts) for parts in zip(*coordinates, strict=True))
    _, cells = pattern_of(rows, cols, pattern.shape)
    values = jnp.concatenate([jnp.zeros(pattern.capacity, given.dtype), given.values])
    return in_cells(values, cells).at[cells[: pattern.capacity]].get(mode="fill", fill_value=0)


def segment(values: jax.Array, segments: jax.Array, count: int) -> jax.Array:
    """Sums of values by segment; those of segment ``count`` drop."""
    return jax.ops.segment_sum(values, segments, count)


def is_static(value: Any) -> bool:
    """Whether a number is known while tracing."""
    return isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)) or (
        isinstance(value, jax.Array) and not isinstance(value, Tracer)
    )
