"""What every way of solving a linear system shares: the matrix, dense or sparse, and a solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from app.sparse.matrix import SparseMatrix

Matrix: TypeAlias = SparseMatrix | jax.Array
Solver: TypeAlias = Callable[[bool, jax.Array], jax.Array]
"""``solver(turned, b)``: x with A x = b, or with A.T x = b where ``turned``. b: (n,) or (n, k)."""


def transposed(A: Matrix) -> Matrix:
    """A.T, without conjugation; costs nothing."""
    return A.T


def inexact(*operands: Any) -> Any:
    """The type to solve in: that of the operands, where integers count as the default float type
    and half precision as float32."""
    types = [jnp.result_type(each) for each in operands]
    whole = [each for each in types if not jnp.issubdtype(each, jnp.inexact)]
    return jnp.result_type(*types, jnp.result_type(float) if whole else jnp.float32)


def scales(x: jax.Array, axis: int | None = None) -> jax.Array:
    """Powers of two that bring the largest entry of ``x``, or those along ``axis``, to about 1."""
    largest = jnp.max(jnp.abs(x), axis=axis, initial=0)
    usable = jnp.isfinite(largest) & (largest > 0)
    _, exponent = jnp.frexp(jnp.where(usable, largest, 1))
    # neither a power nor its inverse may leave the normal numbers
    most = int(jnp.finfo(largest.dtype).maxexp) - 2
    return jnp.ldexp(jnp.ones((), largest.dtype), -jnp.clip(exponent, -most, most))


def residual_of(A: Matrix, x: jax.Array, b: jax.Array) -> jax.Array:
    """|b - A x| / |b| for each right-hand side; |b - A x| where b is 0."""
    scale = scales(b, 0)
    x, b = scale * x, scale * b
    size = jnp.linalg.norm(b, axis=0)
    return norm(b - A @ x) / jnp.where(size > 0, size, 1)


def norm(x: jax.Array) -> jax.Array:
    """|x| of each column, or of a vector, whose squares may overflow or vanish."""
    scale = scales(x, 0)
    return jnp.linalg.norm(scale * x, axis=0) / scale


def adjoint(A: Matrix) -> Matrix:
    """The conjugate transpose."""
    turned = A.T
    if not jnp.issubdtype(A.dtype, jnp.complexfloating):
        return turned
    return turned.map(jnp.conj) if isinstance(turned, SparseMatrix) else turned.conj()


def frobenius(A: Matrix) -> jax.Array:
    """The square root of the sum of |a|^2."""
    return norm(A.stored_values() if isinstance(A, SparseMatrix) else A.ravel())
