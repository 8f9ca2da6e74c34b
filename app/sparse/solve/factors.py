"""SuperLU factorisations on the host, kept by the content of the matrix they factor.

Rows are scaled by powers of two first, so that badly scaled systems keep their digits. A
repeated right-hand side, and the transposed solves of derivatives, cost two triangular solves.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import MatrixRankWarning, splu

MAX_BYTES = 2**29
SINGULAR = 10 * np.finfo(np.float64).eps
"""A pivot this much smaller than the largest, rows scaled, is what round-off leaves of a zero."""


@dataclass(frozen=True)
class Factors:
    """The LU factors of a scaled square matrix, or why there are none."""

    lu: Any
    scale: np.ndarray
    size: int

    def solve(self, b: np.ndarray, transposed: bool) -> np.ndarray:
        """``A x = b``, or ``A.T x = b``; NaN everywhere when A is singular."""
        if self.lu is None:
            return np.full_like(b, np.nan)
        scale = self.scale if b.ndim == 1 else self.scale[:, None]
        with np.errstate(all="ignore"):
            # the factors are those of the transpose: CSR read as CSC
            if transposed:
                return (self.lu.solve(np.asfortranarray(b)) * scale).astype(b.dtype)
            return self.lu.solve(np.asfortranarray(b * scale), trans="T").astype(b.dtype)


class FactorCache:
    """The most recent factorisations, by SHA-256 of the matrix, within a bound of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[bytes, Factors] = OrderedDict()
        self._lock = threading.Lock()
        self.factored = 0

    def get(self, values: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Factors:
        """The factors of a CSR matrix, computed unless they are kept."""
        nnz = int(indptr[-1])
        parts = (values[:nnz], indices[:nnz], indptr)
        digest = hashlib.sha256(str(values.dtype).encode())
        for part in parts:
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        key = digest.digest()
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = factor(*parts)
        with self._lock:
            self.factored += 1
            self._kept[key] = made
            while (
                len(self._kept) > 1 and sum(f.size for f in self._kept.values()) > self._max_bytes
            ):
                self._kept.popitem(last=False)
        return made


def factor(values: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Factors:
    """Factor a square CSR matrix of float64 or complex128."""
    n = len(indptr) - 1
    rows = np.repeat(np.arange(n), np.diff(indptr))
    largest = np.zeros(n)
    np.maximum.at(largest, rows, np.abs(values))
    usable = np.isfinite(largest) & (largest > 0)
    if not usable.all():
        return Factors(None, np.ones(n), 0)
    scale = np.ldexp(1.0, -np.frexp(largest)[1])
    scaled = values * scale[rows]
    matrix = scipy.sparse.csc_matrix((scaled, indices, indptr), shape=(n, n))
    try:
        lu = splu(matrix)
    except (RuntimeError, MatrixRankWarning, MemoryError):
        return Factors(None, scale, 0)
    pivots = np.abs(lu.U.diagonal())
    if n and pivots.min() <= SINGULAR * pivots.max():
        return Factors(None, scale, 0)
    return Factors(lu, scale, int(lu.nnz) * (values.itemsize + 4))


@cache
def process_factors() -> FactorCache:
    """The cache of this process."""
    return FactorCache()
