"""coo, csr and csc, checked and made canonical CSR. NumPy only."""

from __future__ import annotations

import numpy as np

from app.core.errors import InvalidArgument
from app.sparse import validate
from app.sparse.canonical import Canonical, from_entries


def coo(shape: tuple[int, ...], parts: dict[str, np.ndarray], max_rows: int) -> Canonical:
    size = _matrix(shape)
    nnz = _nnz(parts["values"])
    for name in ("row", "col"):
        validate.check_ndim(parts[name], 1, name)
        validate.check_length(parts[name], nnz, name, "values")
    validate.check_rows(size[0], nnz, max_rows)
    rows = validate.indices(parts["row"], size[0], "row")
    cols = validate.indices(parts["col"], size[1], "col")
    return from_entries(rows, cols, parts["values"], size)


def compressed(
    layout: str, shape: tuple[int, ...], parts: dict[str, np.ndarray], max_rows: int
) -> Canonical:
    size = _matrix(shape)
    nnz = _nnz(parts["values"])
    major, minor = size if layout == "csr" else size[::-1]
    for name in ("indptr", "indices"):
        validate.check_ndim(parts[name], 1, name)
    validate.check_length(parts["indices"], nnz, "indices", "values")
    validate.check_length(parts["indptr"], major + 1, "indptr", f"the shape of a {layout}")
    validate.check_rows(size[0], nnz, max_rows)
    indptr = validate.pointers(parts["indptr"], nnz)
    indices = validate.indices(parts["indices"], minor, "indices")
    if layout == "csr" and _rising(indices, indptr):
        return Canonical(size, parts["values"], indices, indptr)
    across = np.repeat(np.arange(major, dtype=np.int32), np.diff(indptr))
    rows, cols = (across, indices) if layout == "csr" else (indices, across)
    return from_entries(rows, cols, parts["values"], size)


def _rising(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether columns rise strictly within every row."""
    rises = indices[1:] > indices[:-1]
    borders = indptr[1:-1]
    rises[borders[(borders > 0) & (borders < len(indices))] - 1] = True
    return bool(rises.all())


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        raise InvalidArgument(
            f"a matrix has two sizes, not {len(shape)}",
            pointer="/shape",
            hint="For more dimensions use bcoo, or bcsr with leading batch dimensions.",
        )
    return int(shape[0]), int(shape[1])


def _nnz(values: np.ndarray) -> int:
    validate.check_ndim(values, 1, "values")
    validate.check_count(len(values))
    return len(values)
