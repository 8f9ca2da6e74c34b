"""A few eigenvalues and eigenvectors of a sparse or dense matrix, inside a traced program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from app.sparse.matrix import SparseMatrix
from app.sparse.solve.spectrum import Wanted, spectrum

OUTCOMES = (
    "found",
    "not converged: give a larger maxiter, a smaller k, or a sigma near what is wanted",
    'the matrix is not symmetric (Hermitian): send "symmetric": false',
    "the matrix holds values that are not finite",
    "the matrix less its shift could not be factored: move sigma",
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Eigen:
    """``values`` (k,), ``vectors`` (n, k) of norm 1, ``residual`` (k,), and ``outcome``, an index
    into ``OUTCOMES``."""

    values: jax.Array
    vectors: jax.Array
    residual: jax.Array
    outcome: jax.Array


def eigen(A: SparseMatrix | jax.Array, wanted: Wanted) -> Eigen:
    """The eigenpairs that ``wanted`` describes, from the host; no derivatives.

    Real where ``wanted.symmetric`` and A is real, complex otherwise. A is square.
    """
    A = A.canonical() if isinstance(A, SparseMatrix) else A
    n = A.shape[0]
    dtype = jnp.result_type(A.dtype, jnp.float32)
    real = jnp.finfo(dtype).dtype
    vector = dtype if wanted.symmetric else jnp.result_type(dtype, jnp.complex64)
    value = real if wanted.symmetric else vector
    shapes = (
        jax.ShapeDtypeStruct((wanted.k,), value),
        jax.ShapeDtypeStruct((n, wanted.k), vector),
        jax.ShapeDtypeStruct((wanted.k,), real),
        jax.ShapeDtypeStruct((), jnp.int32),
    )

    def host(*parts: Any) -> tuple[np.ndarray, ...]:
        found = spectrum(_on_host(parts, n), wanted, float(jnp.finfo(real).eps))
        return tuple(np.asarray(x).astype(s.dtype) for x, s in zip(found, shapes, strict=True))

    parts = (A.values, A.indices, A.indptr) if isinstance(A, SparseMatrix) else (A,)
    fixed = jax.lax.stop_gradient(parts)
    return Eigen(*jax.pure_callback(host, shapes, *fixed, vmap_method="sequential"))


def _on_host(parts: Any, n: int) -> Any:
    """The matrix of a callback's arrays, in double precision."""
    values, *pattern = (np.asarray(part) for part in parts)
    values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    if not pattern:
        return values
    indices, indptr = pattern
    nnz = int(indptr[-1])
    return sp.csr_matrix((values[:nnz], indices[:nnz], indptr), (n, n))
