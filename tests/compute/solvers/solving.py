"""Runs a solver verb in process, as a worker would, and reads its answer as a client does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from app.compute.engine import Engine
from app.compute.limits import EngineLimits
from app.compute.spec import ProgramSpec
from app.core.values import aval_of, flatten, unflatten
from app.services.outcome import told


def program(
    verb: str,
    source: str,
    args: Any,
    *,
    dtype: str = "float64",
    entry: str | None = None,
    groups: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """The tree that one program of a verb returns, arrays as they are, and its metadata."""
    engine = Engine(EngineLimits())
    leaves: list[Any] = []
    given = args if isinstance(args, dict) else tuple(args)
    inputs = {"args": flatten(_arrays(given, dtype), leaves)}
    for name, tree in (groups or {}).items():
        inputs[name] = flatten(tree, leaves)
    avals = tuple(map(aval_of, leaves))
    spec = ProgramSpec(source, entry, verb, inputs, avals, options, dtype)
    lowered = engine.lower(spec)
    results = engine.run(engine.build(lowered), leaves)
    return lowered.meta, results


def solve(verb: str, source: str, args: Any, **options: Any) -> dict[str, Any]:
    """A whole solve: the result with outcome, success and statistics beside its arrays."""
    meta, results = program(verb, source, args, **options)
    structure, fields = told(meta["out"], results, meta)
    return {**unflatten(structure, results), **fields}


def _arrays(tree: Any, dtype: str) -> Any:
    if isinstance(tree, dict):
        return {name: _arrays(branch, dtype) for name, branch in tree.items()}
    if isinstance(tree, tuple):
        return [_arrays(branch, dtype) for branch in tree]
    array = np.asarray(tree)
    return array.astype(dtype) if array.dtype.kind in "if" else array
