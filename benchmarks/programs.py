"""Programs compiled and run by the engine in this process: what a worker does, without HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from app.compute.engine import Engine
from app.compute.limits import EngineLimits
from app.compute.programs.precision import precision
from app.compute.programs.program import Program
from app.compute.spec import ProgramSpec
from app.core.values import Structure, aval_of, unflatten
from app.sparse.canonical import Canonical


@cache
def engine() -> Engine:
    """The engine of this process, with limits that no benchmark meets."""
    return Engine(EngineLimits(array_bytes=2**33, output_bytes=2**32, program_bytes=2**35))


class Compiled:
    """A verb of a function, compiled for arguments like ``args``: NumPy arrays or ``Canonical``."""

    def __init__(self, verb: str, source: str, args: Sequence[Any], **options: Any) -> None:
        avals = tuple(a.aval() if isinstance(a, Canonical) else aval_of(a) for a in args)
        inputs: dict[str, Structure] = {"args": list(range(len(args)))}
        self.spec = ProgramSpec(source, None, verb, inputs, avals, options)
        start = time.perf_counter()
        lowered = engine().lower(self.spec)
        self.lower_s = time.perf_counter() - start
        self._out = lowered.meta["out"]
        self._program = engine().build(lowered)

    def __call__(self, *args: Any) -> Any:
        """The result as a tree of arrays; a sparse one as the list of its buffers."""
        return unflatten(self._out, self.run(buffers(args)))

    def run(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """The flat result for flat buffers."""
        return engine().run(self._program, leaves)

    def colours(self) -> int:
        """How many products a sparse derivative takes."""
        with precision(self.spec.dtype):
            return Program.of(self.spec).plan.count


def buffers(args: Sequence[Any]) -> list[np.ndarray]:
    """What a program takes: a dense array as it is, a matrix as three padded arrays."""
    taken: list[np.ndarray] = []
    for arg in args:
        if isinstance(arg, Canonical):
            inner = arg.padded()
            taken += [inner.values, inner.indices, inner.indptr]
        else:
            taken.append(arg)
    return taken


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
