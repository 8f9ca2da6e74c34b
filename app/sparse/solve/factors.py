"""SuperLU factorisations on the host, kept by the content of the matrix they factor.

Rows and columns are scaled by powers of two first, so that badly scaled systems keep their digits
and only singular ones have tiny pivots. A repeated right-hand side, and the transposed solves of
derivatives, cost two triangular solves.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import MatrixRankWarning, splu

MAX_BYTES = 2**29
EPS = float(np.finfo(np.float64).eps)
SINGULAR = 10
"""Round-offs that are left of a pivot that is 0, in a matrix scaled to entries of at most 1."""


@dataclass(frozen=True)
class Factors:
    """The LU factors of a square matrix, its rows and columns scaled, or None where it has none."""

    lu: Any
    rows: np.ndarray
    columns: np.ndarray
    size: int

    def solve(self, b: np.ndarray, turned: bool) -> np.ndarray:
        """``A x = b``, or ``A.T x = b``; NaN everywhere when A is singular."""
        if self.lu is None:
            return np.full_like(b, np.nan)
        before, after = (self.columns, self.rows) if turned else (self.rows, self.columns)
        if b.ndim == 2:
            before, after = before[:, None], after[:, None]
        with np.errstate(all="ignore"):
            # the factors are those of the transpose: CSR read as CSC
            trans = "N" if turned else "T"
            return (self.lu.solve(np.asfortranarray(b * before), trans=trans) * after).astype(
                b.dtype
            )

    @cached_property
    def smallest(self) -> float:
        """About the smallest singular value of A; 0 when A is singular."""
        if self.lu is None:
            return 0.0
        n, kind = len(self.rows), np.complex128 if self.lu.U.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            return float(smallest_singular(lambda turned, b: self.solve(b, turned), n, kind))


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
    place = np.repeat(np.arange(n), np.diff(indptr))
    rows = _scales(values, place, n)
    scaled = values * rows[place]
    columns = _scales(scaled, indices, n)
    scaled = scaled * columns[indices]
    none = Factors(None, rows, columns, 0)
    if not (np.isfinite(scaled).all() and (rows > 0).all() and (columns > 0).all()):
        return none
    try:
        lu = splu(scipy.sparse.csc_matrix((scaled, indices, indptr), shape=(n, n)))
    except (RuntimeError, MatrixRankWarning, MemoryError):
        return none
    if n and np.abs(lu.U.diagonal()).min() <= SINGULAR * EPS:
        return none
    return Factors(lu, rows, columns, int(lu.nnz) * (values.itemsize + 4))


def _scales(values: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """Powers of two that bring the largest of each row or column to about 1; 0 without one."""
    largest = np.zeros(n)
    np.maximum.at(largest, places, np.abs(values))
    with np.errstate(over="ignore"):
        return np.where(largest > 0, np.ldexp(1.0, -np.frexp(largest)[1]), 0.0)


@cache
def process_factors() -> FactorCache:
    """The cache of this process."""
    return FactorCache()


def smallest_singular(solve: Callable[[bool, Any], Any], n: int, dtype: Any) -> Any:
    """About the smallest singular value of a matrix, by two steps of inverse iteration.

    ``solve`` is a solver of it, of NumPy or JAX arrays.
    """
    start = np.cos(1.0 + np.arange(n)).astype(dtype)
    for turned in (False, True):
        found = solve(turned, start.conj() if turned else start)
        length = abs(found @ found.conj()) ** 0.5
        start = found / length
    return 1 / length
