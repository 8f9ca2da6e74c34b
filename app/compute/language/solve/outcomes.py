"""What a function of ``solve`` answers: a solution, NaN where it failed, or a record of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.language.solve import options as read
from app.compute.solvers import implicit
from app.compute.solvers.unknowns import Unknowns
from app.sparse.solve.soundness import spoiled_where_not


def sound(solution: Any, success: jax.Array) -> Any:
    """``solution``, a tree of arrays, with NaN for every number of it unless ``success``.

    Its derivatives are NaN then too, but where nothing asks for them: ``jnp.where(s.success, s.x,
    0.0)`` has a derivative. Integers stay as they are: they have no NaN.
    """
    return jax.tree.map(lambda leaf: spoiled_where_not(success, jnp.asarray(leaf)), solution)


class Solved(NamedTuple):
    """``solution``, the largest ``residual`` there, counts, ``success`` and ``outcome``."""

    solution: Any
    residual: jax.Array
    iterations: jax.Array
    evaluations: jax.Array
    success: jax.Array
    outcome: jax.Array


def answer(
    unknowns: Unknowns,
    found: jax.Array,
    told: implicit.Told,
    full: Any,
    record: Callable[..., Any] | None = None,
) -> Any:
    """The solution ``found`` (n,), shaped as the start, or with ``full`` its record.

    ``record`` takes the solution, ``found``, iterations, evaluations, success and outcome.
    """
    ending = implicit.ending(told)
    found = sound(found, ending[2])
    solution = unknowns.pack(found)
    if not read.flag("full", full):
        return solution
    if record is None:
        return Solved(solution, told["residual"], *ending)
    return record(solution, found, *ending)
