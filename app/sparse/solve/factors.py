"""SuperLU factorisations on the host: whole ones, and incomplete ones for preconditioning.

Rows and columns are scaled by powers of two first, so that badly scaled systems keep their digits
and only singular ones have tiny pivots. A repeated right-hand side, and the transposed solves of
derivatives, cost two triangular solves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import MatrixRankWarning, spilu, splu

EPS = float(np.finfo(np.float64).eps)
SINGULAR = 10
"""Round-offs that are left of a pivot that is 0, in a matrix scaled to entries of at most 1."""
INCOMPLETE = {"drop_tol": 1e-4, "fill_factor": 10}
"""What an incomplete factorisation drops, and how many times the entries of A it may hold."""


@dataclass(frozen=True)
class Factors:
    """The LU factors of a square matrix, its rows and columns scaled, or None where it has none.

    ``kind`` is the type of its values, ``size`` about the bytes of its factors.
    """

    lu: Any
    rows: np.ndarray
    columns: np.ndarray
    kind: np.dtype
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
        n, solve = len(self.rows), lambda turned, b: self.solve(b, turned)
        with np.errstate(all="ignore"):
            return float(smallest_singular(solve, n, self.kind))


def factor(
    values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, *, incomplete: bool = False
) -> Factors:
    """Factor a square CSR matrix of float64 or complex128."""
    n = len(indptr) - 1
    place = np.repeat(np.arange(n), np.diff(indptr))
    rows = _scales(values, place, n)
    scaled = values * rows[place]
    columns = _scales(scaled, indices, n)
    scaled = scaled * columns[indices]
    none = Factors(None, rows, columns, values.dtype, 0)
    if not (np.isfinite(scaled).all() and (rows > 0).all() and (columns > 0).all()):
        return none
    try:
        matrix = scipy.sparse.csc_matrix((scaled, indices, indptr), shape=(n, n))
        lu = spilu(matrix, **INCOMPLETE) if incomplete else splu(matrix, _ordering(matrix))
    except (RuntimeError, MatrixRankWarning, MemoryError):
        return none
    if n and not incomplete and np.abs(lu.U.diagonal()).min() <= SINGULAR * EPS:
        return none
    return Factors(lu, rows, columns, values.dtype, int(lu.nnz) * (values.itemsize + 4))


def _ordering(matrix: Any) -> str:
    """SuperLU's ordering of columns. That of A + A.T, where both have one pattern, leaves half the
    fill on a grid and solves in a quarter of the time."""
    mirror = matrix.tocsr()
    same = np.array_equal(mirror.indptr, matrix.indptr)
    same = same and np.array_equal(mirror.indices, matrix.indices)
    return "MMD_AT_PLUS_A" if same else "COLAMD"


def _scales(values: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """Powers of two that bring the largest of each row or column to about 1; 0 without one."""
    largest = np.zeros(n)
    np.maximum.at(largest, places, np.abs(values))
    with np.errstate(over="ignore"):
        return np.where(largest > 0, np.ldexp(1.0, -np.frexp(largest)[1]), 0.0)


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
