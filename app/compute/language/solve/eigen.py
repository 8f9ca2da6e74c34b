"""``solve.eigen``: a few eigenvalues and eigenvectors inside a function."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.language.solve import options as read
from app.compute.language.solve.outcomes import sound
from app.sparse.matrix import SparseMatrix
from app.sparse.solve.eigen import eigen as search
from app.sparse.solve.eigen import wanted_of
from app.sparse.solve.spectrum import CHOICES


class Pairs(NamedTuple):
    """``values`` (k,) and ``vectors`` (n, k), columns of norm 1."""

    values: jax.Array
    vectors: jax.Array


class FullPairs(NamedTuple):
    """As ``Pairs``, with the relative ``residual`` of each, ``success`` and ``outcome``."""

    values: jax.Array
    vectors: jax.Array
    residual: jax.Array
    success: jax.Array
    outcome: jax.Array


def eigen(
    A: Any,
    *,
    k: int | None = None,
    which: str | None = None,
    sigma: float | None = None,
    symmetric: bool = True,
    tol: float | None = None,
    maxiter: int | None = None,
    full: bool = False,
) -> Any:
    """Find k eigenvalues of a dense or sparse matrix A and their vectors, as (values, vectors).

    ``which``: largest_magnitude (default), smallest_magnitude, largest, smallest; or those nearest
    to ``sigma``. ``symmetric=False`` takes any square matrix and answers complex numbers. With
    ``full=True`` residual, success and outcome beside them. What was not found is NaN, as is the
    derivative of a repeated eigenvalue, which has none.
    """
    A = A if isinstance(A, SparseMatrix) else jnp.asarray(A)
    given: dict[str, Any] = {"symmetric": read.flag("symmetric", symmetric)}
    if k is not None:
        given["k"] = read.count("k", k)
    if which is not None:
        given["which"] = read.choice("which", which, CHOICES)
    if sigma is not None:
        given["sigma"] = read.number("sigma", sigma)
    if tol is not None:
        given["tol"] = read.number("tol", tol, least=0.0)
    if maxiter is not None:
        given["maxiter"] = read.count("maxiter", maxiter)
    found = search(A, wanted_of(A.shape[0] if A.shape else 0, given))
    success = found.outcome == 0
    values, vectors = sound((found.values, found.vectors), success)
    if not read.flag("full", full):
        return Pairs(values, vectors)
    return FullPairs(values, vectors, found.residual, success, found.outcome)
