"""Linear algebra with sparse matrices inside functions: solvers and small dense factorisations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.sparse import linalg

from app.core.errors import RefusedSource
from app.sparse.matrix import SparseMatrix

MAX_FACTORED = 2**22
"""Cells of a matrix that dense factorisations take: 2048 x 2048."""
DENSE = "eigh eigvalsh eigvals eig det slogdet inv cholesky qr svd svdvals cond matrix_rank pinv"


def iterative(function: Callable[..., Any], A: Any, b: jax.Array, *args: Any, **named: Any) -> Any:
    """``cg``, ``gmres``, ``bicgstab`` of JAX with a sparse matrix, M too; implicit derivatives."""
    if isinstance(named.get("M"), SparseMatrix):
        named["M"] = named["M"].__matmul__
    return function(A.__matmul__ if isinstance(A, SparseMatrix) else A, b, *args, **named)


def factored(name: str, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """A dense factorisation of a small matrix; what it gives back is dense by nature."""
    for A in args:
        if isinstance(A, SparseMatrix) and math.prod(A.shape) > MAX_FACTORED:
            raise RefusedSource(
                f"{name} works on dense matrices up to 2048 x 2048, this is "
                f"{A.shape[0]} x {A.shape[1]}",
                hint="use an iterative solver such as jax.scipy.sparse.linalg.cg",
            )
    dense = [A.todense() if isinstance(A, SparseMatrix) else A for A in args]
    return function(*dense, **named)


TABLE: dict[str, Callable[..., Any]] = {
    **{n: partial(iterative, getattr(linalg, n)) for n in ("cg", "gmres", "bicgstab")},
    **{n: partial(factored, n, getattr(jnp.linalg, n)) for n in (*DENSE.split(), "solve")},
}
