"""An engine that runs plain Python, for failures and attacks that the language never lets through.

A program's source is a module with ``run(leaves)``, and, where wanted, ``lower()``, ``compile()``
and ``load()``. Nothing is compiled: the blob is the source itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.compute.limits import EngineLimits


@dataclass
class Lowered:
    l2: str
    source: str
    meta: dict[str, Any] = field(default_factory=dict)


class Pythonic:
    def __init__(self, limits: EngineLimits) -> None:
        self.limits = limits

    def _step(self, source: str, name: str) -> dict[str, Any]:
        module: dict[str, Any] = {"np": np}
        exec(source, module)
        if name in module:
            module[name]()
        return module

    def check(self, source: str, entry: str | None) -> dict[str, Any]:
        self._step(source, "check")
        return {"kind": "module", "name": entry, "parameters": []}

    def abstract_eval(self, spec: Any) -> dict[str, Any]:
        return {}

    def lower(self, spec: Any) -> Lowered:
        self._step(spec.source, "lower")
        return Lowered(spec.key(), spec.source, {"cost": {}, "serialisable": True})

    def compile(self, lowered: Lowered) -> bytes:
        self._step(lowered.source, "compile")
        lowered.meta["cost"] = {"flops": 1.0}
        return lowered.source.encode()

    def build(self, lowered: Lowered) -> dict[str, Any]:
        return self.load(self.compile(lowered))

    def load(self, blob: bytes) -> dict[str, Any]:
        return self._step(blob.decode(), "load")

    def run(self, program: dict[str, Any], leaves: list[Any]) -> list[np.ndarray]:
        return program["run"](leaves)

    def put(self, array: np.ndarray) -> np.ndarray:
        return array.copy()
