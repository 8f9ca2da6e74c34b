"""``eigen``: a few eigenvalues and eigenvectors of a matrix, and how the search ended."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from app.compute.calls.call import Call
from app.compute.programs.leaves import is_sparse
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument
from app.sparse.solve.eigen import OUTCOMES, eigen, wanted_of
from app.sparse.solve.spectrum import Wanted

META = {"outcomes": list(OUTCOMES), "successes": [0], "statistics": []}
OPTIONS = tuple(field.name for field in fields(Wanted))


def search(call: Call) -> dict[str, Any]:
    """``values``, ``vectors`` as columns, the relative residual of each, and the outcome."""
    if len(call.args) != 1 or not (is_sparse(call.args[0]) or hasattr(call.args[0], "shape")):
        raise InvalidArgument("eigen takes one argument: a matrix", pointer="/args")
    (A,) = call.args
    given = {name: call.options[name] for name in OPTIONS if call.options.get(name) is not None}
    found = eigen(A, wanted_of(A.shape[0] if A.shape else 0, given))
    return {
        "values": found.values,
        "vectors": found.vectors,
        "residual": found.residual,
        "outcome": found.outcome,
    }


VERBS = (Verb("eigen", search, options=frozenset(OPTIONS), meta=META),)
