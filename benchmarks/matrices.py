"""Sparse matrices of the shapes that people meet, ten entries a row, the same ones every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from app.sparse.canonical import Canonical

PER_ROW = 10


def uniform(n: int) -> sp.csr_array:
    """Columns anywhere: every entry another cache line."""
    rng = np.random.default_rng(n)
    rows = np.repeat(np.arange(n), PER_ROW)
    cols = rng.integers(0, n, n * PER_ROW)
    values = rng.standard_normal(n * PER_ROW)
    return sp.csr_array(sp.coo_array((values, (rows, cols)), (n, n)))


def banded(n: int) -> sp.csr_array:
    """Ten diagonals."""
    diagonals = np.random.default_rng(n).standard_normal((PER_ROW, n))
    offsets = np.arange(PER_ROW) - PER_ROW // 2
    return sp.csr_array(sp.dia_array((diagonals, offsets), (n, n)))


def power_law(n: int) -> sp.csr_array:
    """A few long rows and many of one entry, columns that crowd towards the first: a web graph."""
    rng = np.random.default_rng(n)
    counts = np.minimum(rng.zipf(1.8, n), n // 2)
    counts = np.maximum(1, (counts * (PER_ROW / counts.mean())).astype(int))
    rows = np.repeat(np.arange(n), counts)
    cols = (n * rng.random(len(rows)) ** 3).astype(int)
    values = rng.standard_normal(len(rows))
    return sp.csr_array(sp.coo_array((values, (rows, cols)), (n, n)))


def laplacian(side: int) -> sp.csr_array:
    """The five-point Laplacian of a square grid: ``side**2`` unknowns, positive definite."""
    ends = np.full(side, -1.0)
    line = sp.dia_array((np.stack([ends, -2 * ends, ends]), [-1, 0, 1]), (side, side))
    unit = sp.eye_array(side)
    return sp.csr_array(sp.kron(unit, line) + sp.kron(line, unit))


def canonical(matrix: Any) -> Canonical:
    """What gradserve makes of it."""
    shape = (matrix.shape[0], matrix.shape[1])
    indices, indptr = (part.astype(np.int32) for part in (matrix.indices, matrix.indptr))
    return Canonical(shape, matrix.data, indices, indptr)
