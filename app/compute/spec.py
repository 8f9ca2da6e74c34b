"""What is to be compiled: function x verb x options x abstract values, free of any data.

The API process builds a ``ProgramSpec`` without parsing user code or importing JAX; workers turn
it into an executable. Its digest is the first-level cache key and the program's public id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.compute.host import code_version
from app.core.values import Aval, Structure


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """A program before it is compiled.

    ``inputs`` maps each group of inputs to its structure, leaf numbers running over all groups:
    ``args`` (a list by position or an object by parameter name) and, where the verb has them,
    ``tangents``, ``cotangents`` or ``vectors``. ``options`` holds the verb's own fields as the
    client sent them: wrt, static, vmap, mode, sparse, batch, holomorphic, order, eps.
    """

    source: str
    entry: str | None
    verb: str
    inputs: Mapping[str, Structure]
    avals: tuple[Aval, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float64"
    platform: str = "cpu"
    _key: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def to_wire(self) -> dict[str, Any]:
        """What crosses a process border; ``from_wire`` reads it back."""
        return {
            "source": self.source,
            "entry": self.entry,
            "verb": self.verb,
            "inputs": dict(self.inputs),
            "avals": [aval.to_wire() for aval in self.avals],
            "options": dict(self.options),
            "dtype": self.dtype,
            "platform": self.platform,
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> ProgramSpec:
        """The spec that ``to_wire`` wrote."""
        avals = tuple(Aval.from_wire(aval) for aval in wire["avals"])
        return cls(**{**wire, "avals": avals})

    def digests(self) -> dict[str, str]:
        """SHA-256 of each part of the key, by name: what tells which part of it differed."""
        return {name: _digest(part) for name, part in self.to_wire().items()}

    def key(self) -> str:
        """64 hex digits of SHA-256 over every part and the code that makes programs."""
        if not self._key:
            self._key.append(_digest([code_version(), self.to_wire()]))
        return self._key[0]


def _digest(part: Any) -> str:
    """JSON with sorted keys tells 1, 1.0 and true apart, and is the same in every process."""
    return hashlib.sha256(orjson.dumps(part, option=orjson.OPT_SORT_KEYS)).hexdigest()
