"""What every way of solving a linear system shares: the matrix, dense or sparse, and a solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp

from app.sparse.matrix import SparseMatrix

Matrix: TypeAlias = SparseMatrix | jax.Array
Solver: TypeAlias = Callable[[bool, jax.Array], jax.Array]
"""``solver(turned, b)``: x with A x = b, or with A.T x = b where ``turned``. b: (n,) or (n, k)."""


def transposed(A: Matrix) -> Matrix:
    """A.T, without conjugation; costs nothing."""
    return A.T


def residual_of(A: Matrix, x: jax.Array, b: jax.Array) -> jax.Array:
    """|b - A x| / |b| for each right-hand side; |b - A x| where b is 0."""
    size = jnp.linalg.norm(b, axis=0)
    return jnp.linalg.norm(b - A @ x, axis=0) / jnp.where(size > 0, size, 1)


def adjoint(A: Matrix) -> Matrix:
    """The conjugate transpose."""
    turned = A.T
    if not jnp.issubdtype(A.dtype, jnp.complexfloating):
        return turned
    return turned.map(jnp.conj) if isinstance(turned, SparseMatrix) else turned.conj()


def frobenius(A: Matrix) -> jax.Array:
    """The square root of the sum of |a|^2."""
    return jnp.linalg.norm(A.stored_values() if isinstance(A, SparseMatrix) else A)
