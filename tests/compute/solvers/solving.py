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


class Program:
    """One compiled program of a verb, for values of the shapes of ``args`` and ``groups``."""

    def __init__(
        self,
        verb: str,
        source: str,
        args: Any,
        *,
        dtype: str = "float64",
        entry: str | None = None,
        groups: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._engine = Engine(EngineLimits())
        self._dtype = dtype
        inputs, leaves = self._flat(args, groups)
        avals = tuple(map(aval_of, leaves))
        spec = ProgramSpec(source, entry, verb, inputs, avals, options, dtype)
        lowered = self._engine.lower(spec)
        self._built = self._engine.build(lowered)
        self.meta = lowered.meta
        self.storable = lowered.meta["serialisable"]

    def _flat(
        self, args: Any, groups: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], list[Any]]:
        leaves: list[Any] = []
        given = args if isinstance(args, dict) else tuple(args)
        inputs = {"args": flatten(_arrays(given, self._dtype), leaves)}
        for name, tree in (groups or {}).items():
            inputs[name] = flatten(tree, leaves)
        return inputs, leaves

    def leaves(self, args: Any, groups: Mapping[str, Any] | None = None) -> list[Any]:
        """The flat results."""
        return self._engine.run(self._built, self._flat(args, groups)[1])

    def __call__(self, args: Any, groups: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result with outcome, success and statistics beside its arrays."""
        found = self.leaves(args, groups)
        structure, fields = told(self.meta["out"], found, self.meta)
        return {**unflatten(structure, found), **fields}


def program(verb: str, source: str, args: Any, **options: Any) -> Any:
    """The metadata of one program of a verb, and its flat results."""
    made = Program(verb, source, args, **options)
    return made.meta, made.leaves(args, options.get("groups"))


def solve(verb: str, source: str, args: Any, **options: Any) -> dict[str, Any]:
    """A whole solve, by a program made for it."""
    return Program(verb, source, args, **options)(args, options.get("groups"))


def _arrays(tree: Any, dtype: str) -> Any:
    if isinstance(tree, dict):
        return {name: _arrays(branch, dtype) for name, branch in tree.items()}
    if isinstance(tree, tuple):
        return [_arrays(branch, dtype) for branch in tree]
    array = np.asarray(tree)
    return array.astype(dtype) if array.dtype.kind in "if" else array
