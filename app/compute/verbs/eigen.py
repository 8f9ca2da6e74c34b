"""``eigen``: a few eigenvalues and eigenvectors of a matrix, and how the search ended."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from app.compute.call import Call
from app.compute.leaves import is_sparse
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument
from app.sparse.solve.eigen import OUTCOMES, eigen
from app.sparse.solve.spectrum import CHOICES, SMALL, Wanted

META = {"outcomes": list(OUTCOMES), "successes": [0], "statistics": []}
MAX_WHOLE = 2048
"""Rows up to which nearly all eigenvalues may be asked for."""
DEFAULT_COUNT = 6


def search(call: Call) -> dict[str, Any]:
    """``values``, ``vectors`` as columns, the relative residual of each, and the outcome."""
    A = _matrix(call)
    found = eigen(A, _wanted(call.options, A.shape[0]))
    return {
        "values": found.values,
        "vectors": found.vectors,
        "residual": found.residual,
        "outcome": found.outcome,
    }


def _matrix(call: Call) -> Any:
    if len(call.args) != 1 or not (is_sparse(call.args[0]) or hasattr(call.args[0], "shape")):
        raise InvalidArgument("eigen takes one argument: a matrix", pointer="/args")
    (A,) = call.args
    if len(A.shape) != 2 or A.shape[0] != A.shape[1] or not A.shape[0]:
        raise InvalidArgument(f"the matrix {list(A.shape)} is not square", pointer="/args/0")
    return A


def _wanted(options: Any, n: int) -> Wanted:
    given = {name: options[name] for name in OPTIONS if options.get(name) is not None}
    wanted = Wanted(**{"k": min(n, DEFAULT_COUNT), **given})
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
            f"which {wanted.which!r} is unknown", pointer="/which", hint=f"one of {CHOICES}"
        )
    if "sigma" in given and "which" in given:
        raise InvalidArgument(
            "sigma asks for those nearest to it, which for those at an end",
            pointer="/which",
            hint="leave one of them out",
        )
    return wanted


OPTIONS = tuple(field.name for field in fields(Wanted))

VERBS = (Verb("eigen", search, options=frozenset(OPTIONS), meta=META),)
