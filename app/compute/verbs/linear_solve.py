"""``linear_solve``: A x = b for a sparse or dense A, its residual, and how it ended."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from app.compute.call import Call
from app.compute.leaves import is_sparse
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument
from app.sparse.solve.linear import OUTCOMES, Solution, linear_solve

META = {"outcomes": list(OUTCOMES), "successes": [0], "statistics": []}
DENSE_TOLERANCE = {"float32": 1e-4, "complex64": 1e-4}
"""Relative residual up to which a dense solve counts; 1e-9 for the double types."""


def solve(call: Call) -> dict[str, Any]:
    """``x`` for one right-hand side or many, the relative residual of each, and the outcome."""
    A, b = _operands(call)
    options = {name: call.options[name] for name in SOLVE_OPTIONS if name in call.options}
    solved = linear_solve(A, b, **options) if is_sparse(A) else _dense(A, b, options)
    return {"x": solved.x, "residual": solved.residual, "outcome": solved.outcome}


def _operands(call: Call) -> tuple[Any, Any]:
    if len(call.args) != 2 or not (is_sparse(call.args[0]) or hasattr(call.args[0], "shape")):
        raise InvalidArgument(
            "linear_solve takes two arguments: a matrix and a right-hand side", pointer="/args"
        )
    A, b = call.args
    if not hasattr(b, "shape") or is_sparse(b):
        raise InvalidArgument("the right-hand side is one dense array", pointer="/args/1")
    return A, b


def _dense(A: Any, b: Any, options: dict[str, Any]) -> Solution:
    if options.get("method", "direct") != "direct" or options.get("preconditioner") is not None:
        raise InvalidArgument(
            "a dense matrix is solved directly",
            pointer="/method",
            hint="send A in a sparse layout for cg, gmres and bicgstab",
        )
    if A.ndim != 2 or A.shape[0] != A.shape[1] or b.ndim not in (1, 2) or len(b) != len(A):
        raise InvalidArgument(
            f"a matrix {list(A.shape)} and a right-hand side {list(b.shape)} do not fit",
            pointer="/args",
        )
    x = jnp.linalg.solve(A, b)
    size = jnp.linalg.norm(b, axis=0)
    residual = jnp.linalg.norm(b - A @ x, axis=0) / jnp.where(size > 0, size, 1)
    tolerance = options.get("tol", DENSE_TOLERANCE.get(x.dtype.name, 1e-9))
    finite = jnp.all(jnp.isfinite(x)) & jnp.all(jnp.isfinite(residual))
    close = jnp.all(residual <= tolerance)
    outcome = jnp.where(finite, jnp.where(close, 0, 1), 2)
    return Solution(x, residual, outcome.astype(jnp.int32))


SOLVE_OPTIONS = ("method", "preconditioner", "tol", "maxiter")

VERBS = (
    Verb("linear_solve", solve, options=frozenset(SOLVE_OPTIONS), meta=META),
)  # fmt: skip
