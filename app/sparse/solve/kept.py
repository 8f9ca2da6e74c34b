"""The factorisations that a process keeps, by the content of the matrix that they factor."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache

import numpy as np

from app.sparse.solve.factors import Factors, factor

MAX_BYTES = 2**29

Parts = tuple[np.ndarray, ...]
"""Values, indices and row pointer of canonical CSR, values float64 or complex128."""


def digest(values: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> bytes:
    """SHA-256 of a matrix: its type, values and pattern, without padding."""
    nnz = int(indptr[-1])
    made = hashlib.sha256(str(values.dtype).encode())
    for part in (values[:nnz], indices[:nnz], indptr):
        made.update(np.ascontiguousarray(part).view(np.uint8).data)
    return made.digest()


class FactorCache:
    """The most recent factorisations, whole and incomplete, within a bound of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[bytes, bool], Factors] = OrderedDict()
        self._lock = threading.Lock()
        self.factored = 0

    def get(self, *parts: np.ndarray) -> Factors:
        """The factors of a CSR matrix, computed unless they are kept."""
        return self.at(digest(*parts), lambda: parts)

    def at(self, key: bytes, parts: Callable[[], Parts], *, incomplete: bool = False) -> Factors:
        """The factors of the matrix whose digest is ``key``; ``parts()`` is asked if they are not
        kept."""
        place = (key, incomplete)
        with self._lock:
            found = self._kept.get(place)
            if found is not None:
                self._kept.move_to_end(place)
                return found
        values, indices, indptr = parts()
        nnz = int(indptr[-1])
        made = factor(values[:nnz], indices[:nnz], indptr, incomplete=incomplete)
        with self._lock:
            self.factored += 1
            self._kept[place] = made
            while len(self._kept) > 1 and self._size() > self._max_bytes:
                self._kept.popitem(last=False)
        return made

    def _size(self) -> int:
        return sum(factors.size for factors in self._kept.values())


@cache
def process_factors() -> FactorCache:
    """The cache of this process."""
    return FactorCache()
