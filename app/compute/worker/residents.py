"""What a worker keeps between calls: programs and arrays, the least recently used dropped first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


class Residents:
    """Things by name with a size each, up to ``limit`` bytes together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, name: str) -> Any | None:
        """The thing, now the most recently used; ``None`` where it is not held."""
        held = self._held.get(name)
        if held is None:
            return None
        self._held.move_to_end(name)
        return held[0]

    def add(self, name: str, thing: Any, size: int) -> list[str]:
        """Hold a thing; the names of those dropped for it. The newest is never dropped."""
        self.drop(name)
        self._held[name] = (thing, size)
        self._bytes += size
        dropped = []
        while self._bytes > self._limit and len(self._held) > 1:
            oldest = next(iter(self._held))
            self.drop(oldest)
            dropped.append(oldest)
        return dropped

    def drop(self, name: str) -> None:
        """Let a thing go, if it is held."""
        held = self._held.pop(name, None)
        if held is not None:
            self._bytes -= held[1]
