"""What a process keeps at hand: values by key, the least recently used leave past a byte limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Memory(Generic[K, T]):
    """A mapping bounded by the bytes its owner says each value weighs. Not thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._held: OrderedDict[K, tuple[T, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: K) -> T | None:
        """The value, which becomes the most recently used."""
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[0]

    def put(self, key: K, value: T, size: int) -> None:
        """Keep ``value``, which weighs ``size`` bytes, unless it alone passes the limit."""
        self.drop(key)
        if size > self.limit:
            return
        self._held[key] = (value, size)
        self.bytes += size
        while self.bytes > self.limit:
            _, (_, freed) = self._held.popitem(last=False)
            self.bytes -= freed

    def drop(self, key: K) -> None:
        """Forget a value, if it is held."""
        found = self._held.pop(key, None)
        if found is not None:
            self.bytes -= found[1]
