"""``linear_solve``: A x = b for a sparse or dense A, its residual, and how it ended."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from app.compute.calls.call import Call
from app.compute.programs.leaves import is_sparse
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument
from app.sparse.solve.linear import OUTCOMES, Options, linear_solve

META = {"outcomes": list(OUTCOMES), "successes": [0], "statistics": []}
SOLVE_OPTIONS = tuple(field.name for field in fields(Options))


def solve(call: Call) -> dict[str, Any]:
    """``x`` for one right-hand side or many, the relative residual of each, and the outcome."""
    A, b = _operands(call)
    given = {
        name: call.options[name] for name in SOLVE_OPTIONS if call.options.get(name) is not None
    }
    solved = linear_solve(A, b, Options(**given))
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


VERBS = (
    Verb("linear_solve", solve, options=frozenset(SOLVE_OPTIONS), meta=META),
)  # fmt: skip
