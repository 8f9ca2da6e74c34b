"""What is said when an operation cannot stay sparse: how large it would be, how to ask for it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from app.core.errors import RefusedSource
from app.sparse.matrix import SparseMatrix

FILLS = frozenset(
    "exp exp2 cos cosh arccos acos log log2 log10 reciprocal sigmoid softplus softmax log_softmax "
    "logical_not invert isfinite ones_like full_like arccosh acosh sinc rsqrt log_sigmoid "
    "logaddexp cumsum cumprod prod sort argsort".split()
)
"""Elementwise and like functions that turn zeros into something else."""


def would_fill(what: str, matrix: SparseMatrix) -> RefusedSource:
    """The refusal of an operation whose result has no zeros left."""
    cells = math.prod(matrix.shape)
    size = cells * matrix.dtype.itemsize
    told = f"{size / 2**20:,.1f} MiB" if size >= 2**20 else f"{size} bytes"
    return RefusedSource(
        f"{what} would fill every zero of the sparse matrix: {matrix.shape[0]} x "
        f"{matrix.shape[1]} = {cells} cells ({told})",
        hint="write A.todense() where the dense array is wanted",
    )


def unknown(
    name: str, args: Iterable[Any], kwargs: Mapping[str, Any], table: Iterable[str]
) -> RefusedSource:
    """The refusal of an operation that is not in the table."""
    matrix = first_matrix((*args, *kwargs.values()))
    last = name.rpartition(".")[2]
    if matrix is not None and last in FILLS:
        return would_fill(name, matrix)
    near = difflib.get_close_matches(last, list(table), 3)
    known = f"near it: {', '.join(near)}; " if near else ""
    return RefusedSource(
        f"{name} does not take a sparse matrix",
        hint=f"{known}A.todense() is the dense array",
    )


def first_matrix(values: Iterable[Any]) -> SparseMatrix | None:
    """The first sparse matrix among values or in their lists."""
    for value in values:
        if isinstance(value, SparseMatrix):
            return value
        if isinstance(value, (list, tuple)):
            found = first_matrix(value)
            if found is not None:
                return found
    return None


def kept_names(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments that say something: a None says nothing."""
    return {name: value for name, value in kwargs.items() if value is not None}
