"""Least squares with a dense or sparse A of any shape and rank, inside a traced program.

Derivatives are implicit, to any order, where A has full rank or ``damp`` is not 0; elsewhere the
solution of least norm jumps when A changes, and they are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.sparse.matrix import SparseMatrix
from app.sparse.solve import lsmr
from app.sparse.solve.lsmr import Aim
from app.sparse.solve.on_host import matrix_on_host, parts_of
from app.sparse.solve.solver import Matrix, adjoint, frobenius, norm, scales


def least_squares(A: Matrix, b: jax.Array, aim: Aim) -> jax.Array:
    """The x of least norm that minimises |A x - b|^2 + damp^2 |x|^2.

    (n,) for b: (m,), or (n, k) for (m, k). A and b are of one type.
    """
    if b.ndim == 1:
        return _solution(A, b, aim)
    return jax.vmap(lambda each: _solution(A, each, aim), 1, 1)(b)


def is_minimum(A: Matrix, x: jax.Array, b: jax.Array, aim: Aim) -> jax.Array:
    """Whether each x solves its system, or its residual is orthogonal to what A reaches."""
    scale, b_scale = 1 / frobenius(A), scales(b, 0)
    scale = jnp.where(jnp.isfinite(scale), scale, 1)
    A = A.map(scale.__mul__) if isinstance(A, SparseMatrix) else scale * A
    # in units in which A and b are about 1
    damp, x, b = scale * aim.damp, b_scale * x / scale, b_scale * b
    miss = b - A @ x
    lengths = [norm(each) for each in (miss, x, b)]
    solved = aim.reached(lengths[0], lengths[1] + lengths[2]) & (aim.damp == 0)
    slope = norm(adjoint(A) @ miss - damp**2 * x)
    return solved | aim.reached(slope, jnp.hypot(lengths[0], damp * lengths[1]))


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _solution(A: Matrix, b: jax.Array, aim: Aim) -> jax.Array:
    shape = jax.ShapeDtypeStruct((A.shape[1],), b.dtype)
    return _called(lsmr.minimiser, A, b, shape, aim)


@_solution.defjvp
def _solution_jvp(aim: Aim, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    (A, b), (dA, db) = primals, tangents
    dA = A.with_values(dA.values) if isinstance(A, SparseMatrix) else dA
    x = _solution(A, b, aim)
    miss = db - dA @ x
    if aim.damp or A.shape[0] >= A.shape[1]:
        # r + A x = b, A^H r - damp^2 x = 0
        _, along = _augmented(A, miss, -(adjoint(dA) @ (b - A @ x)), aim)
    else:
        # x + A^H y = 0, A x = b
        y = _solution(adjoint(A), -x, aim)
        along, _ = _augmented(adjoint(A), -(adjoint(dA) @ y), miss, aim)
    return x, along


def _augmented(B: Matrix, f: jax.Array, g: jax.Array, aim: Aim) -> tuple[jax.Array, jax.Array]:
    """r, u with r + B u = f and B^H r - damp^2 u = g, where B has full column rank; else NaN."""
    rows = B.shape[0]

    def product(z: jax.Array) -> jax.Array:
        r, u = z[:rows], z[rows:]
        return jnp.concatenate([r + B @ u, adjoint(B) @ r - aim.damp**2 * u])

    def solve(_: Any, right: jax.Array) -> jax.Array:
        return _called(lsmr.augmented, B, right, right, aim)

    def solve_transposed(_: Any, right: jax.Array) -> jax.Array:
        # the transpose of the system is its conjugate
        return solve(_, right.conj()).conj()

    # one vector: JAX transposes no system of which a part of the right-hand side is fixed
    z = jax.lax.custom_linear_solve(product, jnp.concatenate([f, g]), solve, solve_transposed)
    return z[:rows], z[rows:]


def _called(
    function: Callable[..., Any], A: Matrix, right: jax.Array, like: Any, aim: Aim
) -> jax.Array:
    """``function(matrix, right, aim)`` on the host in double precision; shape and type of like."""
    turned = isinstance(A, SparseMatrix) and A.transposed
    stored = A.T if turned else A
    parts = parts_of(jax.lax.stop_gradient(stored))

    def host(right: Any, *parts: Any) -> np.ndarray:
        matrix = matrix_on_host(parts, stored.shape)
        matrix = matrix.T if turned else matrix
        wide = np.asarray(right).astype(matrix.dtype)
        return function(matrix, wide, aim).astype(right.dtype)

    shape = jax.ShapeDtypeStruct(like.shape, like.dtype)
    return jax.pure_callback(host, shape, right, *parts, vmap_method="sequential")
