"""A few eigenvalues and eigenvectors of a sparse or dense matrix, inside a traced program.

Derivatives are implicit, to any order: each pair solves a system that is regular exactly where the
eigenvalue is simple. Repeated ones have no derivative of their own: it is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.core.errors import InvalidArgument
from app.sparse.matrix import SparseMatrix
from app.sparse.solve.bordered import along
from app.sparse.solve.on_host import matrix_on_host, parts_of
from app.sparse.solve.solver import Matrix, inexact
from app.sparse.solve.spectrum import CHOICES, SMALL, Wanted, spectrum

OUTCOMES = (
    "found",
    "not converged: give a larger maxiter, a smaller k, or a sigma near what is wanted",
    'the matrix is not symmetric (Hermitian): send "symmetric": false',
    "the matrix holds values that are not finite",
    "the matrix less its shift could not be factored: move sigma",
)
MAX_WHOLE = 2048
"""Rows up to which nearly all eigenvalues may be asked for."""
DEFAULT_COUNT = 6


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Eigen:
    """``values`` (k,), ``vectors`` (n, k) of norm 1, ``residual`` (k,), and ``outcome``, an index
    into ``OUTCOMES``."""

    values: jax.Array
    vectors: jax.Array
    residual: jax.Array
    outcome: jax.Array


def eigen(A: Matrix, wanted: Wanted) -> Eigen:
    """The eigenpairs that ``wanted`` describes; what was not found is NaN.

    Real where ``wanted.symmetric`` and A is real, complex otherwise. Derivatives are those of
    simple eigenvalues and, of the vectors, those orthogonal to them: right for every function that
    does not depend on their signs or phases.
    """
    _check(A, wanted)
    if isinstance(A, SparseMatrix):
        A = A.canonical()
        A = A.map(lambda values: values.astype(inexact(values)))
    else:
        A = A.astype(inexact(A))
    return _pairs(A, wanted)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _pairs(A: Matrix, wanted: Wanted) -> Eigen:
    n = A.shape[0]
    real = jnp.finfo(A.dtype).dtype
    vector = A.dtype if wanted.symmetric else jnp.result_type(A.dtype, jnp.complex64)
    shapes = (
        jax.ShapeDtypeStruct((wanted.k,), real if wanted.symmetric else vector),
        jax.ShapeDtypeStruct((n, wanted.k), vector),
        jax.ShapeDtypeStruct((wanted.k,), real),
        jax.ShapeDtypeStruct((), jnp.int32),
    )

    def host(*parts: Any) -> tuple[np.ndarray, ...]:
        found = spectrum(matrix_on_host(parts, A.shape), wanted, float(jnp.finfo(real).eps))
        return tuple(np.asarray(x).astype(s.dtype) for x, s in zip(found, shapes, strict=True))

    found = jax.pure_callback(host, shapes, *parts_of(A), vmap_method="sequential")
    return Eigen(*found)


@_pairs.defjvp
def _pairs_jvp(wanted: Wanted, primals: Any, tangents: Any) -> tuple[Eigen, Eigen]:
    (A,), (dA,) = primals, tangents
    found = _pairs(A, wanted)
    change = A.with_values(dA.values) if isinstance(A, SparseMatrix) else dA
    values, vectors = along(A, change, found.values, found.vectors)
    still = np.zeros((), jax.dtypes.float0)
    return found, Eigen(values, vectors, jnp.zeros_like(found.residual), still)  # pyright: ignore


def _check(A: Any, wanted: Wanted) -> None:
    if (isinstance(A, SparseMatrix) and A.values.ndim != 1) or len(A.shape) != 2:
        raise InvalidArgument(
            "A is one matrix", pointer="/args/0", hint="map over a batch of them with vmap"
        )
    n = A.shape[0]
    if n != A.shape[1]:
        raise InvalidArgument(f"the matrix {list(A.shape)} is not square", pointer="/args/0")
    if not n:
        raise InvalidArgument("the matrix is empty: it has no eigenvalues", pointer="/args/0")
    if not 1 <= wanted.k <= n:
        raise InvalidArgument(f"k is {wanted.k}, the matrix has {n} eigenvalues", pointer="/k")
    if wanted.k >= n - 1 and n > max(MAX_WHOLE, SMALL):
        raise InvalidArgument(
            f"nearly all of {n} eigenvalues are asked for",
            pointer="/k",
            hint=f"ask for a few; all of them up to {MAX_WHOLE} rows",
        )
    if wanted.which not in CHOICES:
        raise InvalidArgument(
            f"which {wanted.which!r} is unknown",
            pointer="/which",
            hint=f"one of {', '.join(CHOICES)}",
        )


def wanted_of(n: int, given: dict[str, Any]) -> Wanted:
    """What is asked for of a matrix of ``n`` rows; raise where two fields contradict each other."""
    if "sigma" in given and "which" in given:
        raise InvalidArgument(
            "sigma asks for those nearest to it, which for those at an end",
            pointer="/which",
            hint="leave one of them out",
        )
    return Wanted(**{"k": min(n, DEFAULT_COUNT), **given})
