"""The matrix of a traced program as NumPy and SciPy see it, in a call of the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import scipy.sparse as sp

from app.sparse.matrix import SparseMatrix
from app.sparse.solve.solver import Matrix


def parts_of(A: Matrix) -> tuple[jax.Array, ...]:
    """What a callback is given of a matrix: its array, or the three of canonical CSR as stored."""
    return (A.values, A.indices, A.indptr) if isinstance(A, SparseMatrix) else (A,)


def matrix_on_host(parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """The matrix of ``parts_of``, as it was stored, in double precision."""
    values, *pattern = (np.asarray(part) for part in parts)
    values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    if not pattern:
        return values
    indices, indptr = pattern
    nnz = int(indptr[-1])
    return sp.csr_matrix((values[:nnz], indices[:nnz], indptr), shape)
