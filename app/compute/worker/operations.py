"""What a worker can be asked: each operation by name, around one engine.

Device and compile workers are the same program; the pool decides what it asks of which.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from app.compute.spec import ProgramSpec
from app.compute.worker.residents import Residents
from app.core.errors import InvalidArgument
from app.core.values import DTYPES

Answer = tuple[list[Any], list[np.ndarray]]
WIRE_DTYPES = frozenset(DTYPES.values())


class Operations:
    """The state of one worker: its engine, programs, arrays and lowered programs."""

    def __init__(self, engine: Any, settings: Mapping[str, Any]) -> None:
        self._engine = engine
        self._programs = Residents(settings["program_bytes"])
        self._arrays = Residents(settings["array_bytes"])
        self._lowerings: OrderedDict[int, Any] = OrderedDict()
        self._lowerings_limit = settings["lowerings"]
        self._lowered = 0
        self._table: dict[str, Callable[..., Answer]] = {
            "run": self._run,
            "load": self._load,
            "build": self._build,
            "put": self._put,
            "drop": self._drop,
            "verify": self._verify,
            "lower": self._lower,
            "compile": self._compile,
            "discard": self._discard,
            "ask": self._ask,
        }

    def answer(self, message: list[Any], arrays: list[np.ndarray]) -> Answer:
        """The answer to one message: its status and payload, and arrays."""
        name, *arguments = message
        return self._table[name](arrays, *arguments)

    def _run(self, arrays: list[np.ndarray], key: str, layout: list[str | None] | None) -> Answer:
        program = self._programs.get(key)
        leaves: list[Any] = arrays
        if layout is not None:
            sent = iter(arrays)
            leaves = [next(sent) if name is None else self._arrays.get(name) for name in layout]
        if program is None or (layout is not None and any(leaf is None for leaf in leaves)):
            lost = [
                name
                for name, leaf in zip(layout or (), leaves, strict=False)
                if name is not None and leaf is None
            ]
            return ["missing", [program is None, lost]], []
        begun = time.perf_counter()
        results = self._engine.run(program, leaves)
        return ["ok", time.perf_counter() - begun], _wire_arrays(results)

    def _load(self, arrays: list[np.ndarray], key: str) -> Answer:
        try:
            program = self._engine.load(arrays[0].tobytes())
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  whatever it says, the blob is of no use here
            return ["rejected", f"{type(error).__name__}: {error}"], []
        return ["ok", self._programs.add(key, program, arrays[0].nbytes)], []

    def _build(self, arrays: list[np.ndarray], key: str, spec: dict[str, Any]) -> Answer:
        engine = self._engine
        program = engine.build(engine.lower(ProgramSpec.from_wire(spec)))
        return ["ok", self._programs.add(key, program, 1 << 20)], []

    def _put(self, arrays: list[np.ndarray], name: str) -> Answer:
        value = self._engine.put(arrays[0])
        return ["ok", self._arrays.add(name, value, arrays[0].nbytes)], []

    def _drop(self, arrays: list[np.ndarray], name: str) -> Answer:
        self._arrays.drop(name)
        self._programs.drop(name)
        return ["ok", None], []

    def _verify(self, arrays: list[np.ndarray]) -> Answer:
        try:
            self._engine.load(arrays[0].tobytes())
        except Exception as error:  # noqa: BLE001  as in _load
            return ["rejected", f"{type(error).__name__}: {error}"], []
        return ["ok", None], []

    def _lower(self, arrays: list[np.ndarray], spec: dict[str, Any]) -> Answer:
        lowered = self._engine.lower(ProgramSpec.from_wire(spec))
        self._lowered += 1
        self._lowerings[self._lowered] = lowered
        if len(self._lowerings) > self._lowerings_limit:
            self._lowerings.popitem(last=False)
        return ["ok", [self._lowered, lowered.l2, lowered.meta]], []

    def _compile(self, arrays: list[np.ndarray], number: int) -> Answer:
        lowered = self._lowerings.pop(number, None)
        if lowered is None:
            return ["missing", None], []
        blob = self._engine.compile(lowered)
        found = [] if blob is None else [np.frombuffer(blob, np.uint8)]
        return ["ok", lowered.meta], found

    def _discard(self, arrays: list[np.ndarray], number: int) -> Answer:
        self._lowerings.pop(number, None)
        return ["ok", None], []

    def _ask(self, arrays: list[np.ndarray], name: str, payload: dict[str, Any]) -> Answer:
        if "spec" in payload:
            payload = {**payload, "spec": ProgramSpec.from_wire(payload["spec"])}
        if name == "diagnose":
            return ["ok", {"items": self._engine.diagnose(payload["spec"], arrays)}], []
        if name == "catalogue":
            return ["ok", {"items": _catalogue()}], []
        asked = {"check": "check", "abstract_eval": "abstract_eval", "ir": "ir"}
        return ["ok", getattr(self._engine, asked[name])(**payload)], []


def _catalogue() -> list[dict[str, Any]]:
    from app.compute.language import registry  # only a worker that is asked needs it

    return registry.catalogue()


def _wire_arrays(results: list[np.ndarray]) -> list[np.ndarray]:
    for result in results:
        if result.dtype not in WIRE_DTYPES:
            raise InvalidArgument(
                f"a result is {result.dtype.name}, which cannot be sent",
                hint="cast it, for example with .astype(jnp.float32)",
            )
    return results
