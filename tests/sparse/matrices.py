"""Matrices as clients send them, random ones too (hypothesis), and the dense array of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from app.core.values import SparseValue
from tests.case_requests import decode

LAYOUTS = ("coo", "csr", "csc", "bcoo", "bcsr")
PARTS = ("row", "col", "indices", "indptr", "values")


def compress(major: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(major, minlength=size))])


def value_of(layout, rows, cols, values, shape) -> SparseValue:
    """Entries in the given order (grouped by major axis where the layout asks for it)."""
    rows, cols, values = np.asarray(rows), np.asarray(cols), np.asarray(values)
    if layout == "coo":
        return SparseValue("coo", shape, {"row": rows, "col": cols, "values": values})
    if layout == "bcoo":
        parts = {"indices": np.stack([rows, cols], -1), "values": values}
        return SparseValue("bcoo", shape, parts)
    major, minor, size = (cols, rows, shape[1]) if layout == "csc" else (rows, cols, shape[0])
    order = np.argsort(major, kind="stable")
    parts = {
        "indptr": compress(major, size).astype(np.int64),
        "indices": minor[order],
        "values": values[order],
    }
    return SparseValue(layout, shape, parts)


def entries_of(value: SparseValue):
    """(rows, cols) of a client's entries in the client's order, by the definition."""
    parts = value.parts
    if value.layout == "coo":
        return parts["row"], parts["col"]
    if value.layout == "bcoo":
        return parts["indices"][:, 0], parts["indices"][:, 1]
    major = np.repeat(np.arange(len(parts["indptr"]) - 1), np.diff(parts["indptr"]))
    return (parts["indices"], major) if value.layout == "csc" else (major, parts["indices"])


def dense_of(value: SparseValue) -> np.ndarray:
    dense = np.zeros(value.shape, value.parts["values"].dtype)
    np.add.at(dense, entries_of(value), value.parts["values"])
    return dense


def wire(matrix: Any, layout: str = "csr") -> dict[str, Any]:
    """The JSON of a dense or SciPy matrix in a layout."""
    coo = sp.coo_matrix(matrix)
    value = value_of(layout, coo.row, coo.col, coo.data, coo.shape)
    parts = {name: part.tolist() for name, part in value.parts.items()}
    return {"layout": layout, "shape": list(coo.shape), **parts}


def dense_of_wire(document: Any) -> np.ndarray:
    """A sparse or dense value of an answer as a dense array."""
    if not (isinstance(document, dict) and "layout" in document):
        return np.asarray(decode(document))
    parts = {name: np.asarray(decode(part)) for name, part in document.items() if name in PARTS}
    return dense_of(SparseValue(document["layout"], tuple(document["shape"]), parts))


def laplacian(n: int) -> sp.csr_matrix:
    """The 5-point Laplacian of an n x n grid."""
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return sp.csr_matrix(sp.kronsum(line, line))


@st.composite
def sparse_values(draw, layouts=LAYOUTS, sizes=(0, 7), most=30, dtype=np.float64, shape=None):
    """Duplicates, any order, empty rows, zero dimensions, explicit zeros, every layout."""
    m, n = shape or (draw(st.integers(*sizes)), draw(st.integers(*sizes)))
    nnz = draw(st.integers(0, most)) if m and n else 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, cols = rng.integers(0, max(m, 1), nnz), rng.integers(0, max(n, 1), nnz)
    values = rng.integers(-3, 4, nnz) / 2.0 + draw(st.sampled_from([0.0, 0.137]))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(nnz)
    values = values.astype(dtype)
    return value_of(draw(st.sampled_from(layouts)), rows, cols, values, (m, n))
