"""``A x = b`` for a sparse or dense A: its solution, its true residual and how it ended. A that
is not square or not regular is for ``lsmr``, which gives the least-squares solution of least norm.

Derivatives with respect to A and to b are implicit: they solve with A and its transpose again, to
any order. A singular matrix, and a derivative whose own solve failed, is never a silent number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from app.core.errors import InvalidArgument
from app.sparse.matrix import SparseMatrix
from app.sparse.solve import direct, krylov
from app.sparse.solve.least_squares import is_minimum, least_squares
from app.sparse.solve.lsmr import Aim
from app.sparse.solve.solver import Matrix, Solver, inexact, residual_of, scales, transposed
from app.sparse.solve.soundness import sound_columns, spoiled_where_not

METHODS = ("direct", *krylov.METHODS, "lsmr")
PRECONDITIONERS = krylov.PRECONDITIONERS
OUTCOMES = (
    "solved",
    "not converged: the residual is above the tolerance",
    "singular, or too near it: no finite solution was found",
)
TOLERANCE = {"float32": 1e-5, "complex64": 1e-5}
"""Relative residual that iterations aim at; 1e-9 for the double types."""
DIRECT_LIMIT = {"float32": 1e-3, "complex64": 1e-3}
"""Relative residual up to which a direct solve counts; 1e-6 for the double types."""
SLACK = 10
"""An iteration's own measure of its residual may be this much below the true one."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Solution:
    """``x``; ``residual``, the norm of b - A x over that of b, for each right-hand side; and
    ``outcome``, an index into ``OUTCOMES``."""

    x: jax.Array
    residual: jax.Array
    outcome: jax.Array


@dataclass(frozen=True)
class Options:
    """How to solve. ``tol``: the relative residual to reach, by default that of the type; ``damp``:
    the weight of x in ``lsmr``, which minimises |A x - b|^2 + damp^2 |x|^2."""

    method: str = "direct"
    preconditioner: str = "none"
    tol: float | None = None
    maxiter: int | None = None
    damp: float = 0.0

    def limit(self, dtype: Any) -> float:
        """The relative residual up to which a solution of this type counts."""
        if self.method == "direct":
            return max(self.tol or 0.0, DIRECT_LIMIT.get(jnp.dtype(dtype).name, 1e-6))
        return SLACK * self.tolerance(dtype)

    def tolerance(self, dtype: Any) -> float:
        """The relative residual that an iteration aims at."""
        return self.tol if self.tol is not None else TOLERANCE.get(jnp.dtype(dtype).name, 1e-9)


def linear_solve(A: Matrix, b: jax.Array, options: Options | None = None) -> Solution:
    """Solve for one right-hand side ``(m,)`` or many ``(m, k)``; ``x`` is the best that was found.

    ``direct`` factors; a program that holds the factors of a sparse matrix cannot be stored.
    ``cg`` needs a symmetric (Hermitian) positive definite A; ``lsmr`` takes any A.
    """
    options = options or Options()
    A, b = operands(A, b, options)
    return told(A, _solve(A, b, options, None), b, options)


def sound_solution(A: Matrix, b: jax.Array, options: Options) -> Solution:
    """As ``linear_solve``, but NaN, with every derivative of it, where it was not solved."""
    A, b = operands(A, b, options)
    ended = told(A, _solve(A, b, options, options.limit(b.dtype)), b, options)
    x = spoiled_where_not(ended.outcome == 0, ended.x)
    return Solution(x, ended.residual, ended.outcome)


def _solve(A: Matrix, b: jax.Array, options: Options, limit: float | None) -> jax.Array:
    if options.method == "lsmr":
        return least_squares(A, b, _aim(options, b.dtype))
    solves = _solves(A, _solver(A, b, options), limit)
    return jax.lax.custom_linear_solve(A.__matmul__, b, *solves)


def _aim(options: Options, dtype: Any) -> Aim:
    return Aim(options.damp, options.tolerance(dtype), options.maxiter)


def told(A: Matrix, x: jax.Array, b: jax.Array, options: Options) -> Solution:
    """``x`` with its true residual and the outcome that follows from it."""
    A, b, fixed = jax.lax.stop_gradient((A, b, x))
    residual = residual_of(A, fixed, b)
    finite = jnp.isfinite(residual) & jnp.all(jnp.isfinite(fixed), axis=0)
    if options.method == "lsmr":
        reached = is_minimum(A, fixed, b, _aim(options, b.dtype))
    else:
        reached = residual <= options.limit(b.dtype)
    outcome = jnp.where(finite, jnp.where(reached, 0, 1), 2)
    return Solution(x, residual, outcome.max(initial=0).astype(jnp.int32))


def operands(A: Matrix, b: jax.Array, options: Options) -> tuple[Matrix, jax.Array]:
    """Both in one inexact type; raise where they do not fit each other or the options."""
    _check(A, b, options)
    b = jnp.asarray(b)
    b = b.astype(inexact(A.dtype, b))
    if isinstance(A, SparseMatrix):
        return A.map(lambda values: values.astype(b.dtype)), b
    return jnp.asarray(A).astype(b.dtype), b


def _solver(A: Matrix, b: jax.Array, options: Options) -> Solver:
    if options.method == "direct":
        return direct.solver(A)
    return krylov.solver(
        A, options.method, options.preconditioner, options.tolerance(b.dtype), options.maxiter
    )


def _solves(A: Matrix, solver: Solver, limit: float | None) -> tuple[Any, Any]:
    """Solves with A and with its transpose; columns that miss ``limit`` become NaN.

    A right-hand side is brought to about 1, and gives 0 where it is 0, whatever A is.
    """

    def side(turned: bool) -> Any:
        operator = transposed(A) if turned else A

        def solve(_: Any, b: jax.Array) -> jax.Array:
            scale = scales(b, 0)
            b = scale * b
            x = solver(turned, b)
            if limit is not None:
                x = jnp.where(sound_columns(x, b - operator @ x, b, limit), x, jnp.nan)
            # where nothing asks for a derivative its right-hand side is 0
            return jnp.where(jnp.all(b == 0, axis=0), 0, x / scale)

        return solve

    return side(False), side(True)


def _check(A: Matrix, b: Any, options: Options) -> None:
    if jnp.ndim(A.values) != 1 if isinstance(A, SparseMatrix) else jnp.ndim(A) != 2:
        raise InvalidArgument(
            "A is one matrix", pointer="/args/0", hint="map over a batch of them with vmap"
        )
    if A.shape[0] != A.shape[1] and options.method != "lsmr":
        raise InvalidArgument(
            f"the matrix is {A.shape[0]} x {A.shape[1]}, not square",
            pointer="/args/0",
            hint='method "lsmr" gives the least-squares solution',
        )
    if options.preconditioner == "ilu" and options.method == "cg":
        raise InvalidArgument(
            'method "cg" takes no preconditioner that is not symmetric, as "ilu" is not',
            pointer="/preconditioner",
            hint='"jacobi", or method "bicgstab"',
        )
    for name, takers in (("damp", ("lsmr",)), ("preconditioner", krylov.METHODS)):
        is_set = getattr(options, name) != getattr(Options(), name)
        if is_set and options.method not in takers:
            raise InvalidArgument(
                f"method {options.method!r} takes no {name}",
                pointer=f"/{name}",
                hint=f"method {' or '.join(takers)} takes it",
            )
    if isinstance(b, SparseMatrix) or jnp.ndim(b) not in (1, 2) or jnp.shape(b)[0] != A.shape[0]:
        shape = b.shape if isinstance(b, SparseMatrix) else jnp.shape(b)
        raise InvalidArgument(
            f"the right-hand side {list(shape)} does not fit a matrix {list(A.shape)}",
            pointer="/args/1",
        )
    for name, value, known in (
        ("method", options.method, METHODS),
        ("preconditioner", options.preconditioner, PRECONDITIONERS),
    ):
        if value not in known:
            raise InvalidArgument(
                f"{name} {value!r} is unknown",
                pointer=f"/{name}",
                hint=f"one of {', '.join(known)}",
            )
