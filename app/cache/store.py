"""What a store can do: values by namespace and key, leases, streams of events.

Two forms pass one contract suite: ``RedisStore`` for many hosts, ``SqliteStore`` for one. Every
method raises ``Unavailable`` at once while the store cannot be reached; nothing here blocks the
event loop. What a store returns is not trusted: see ``signing``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.core.errors import TooLarge

CHUNK_BYTES = 8 << 20
"""Values are moved in pieces of this size, so that no other caller waits for a whole one."""

INLINE_BYTES = 1 << 20
"""Values up to this size are kept in one piece beside their key."""

MAX_EVENTS = 10_000
_NAMESPACE = re.compile(r"[a-z0-9_]{1,32}")


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Bytes that each namespace may fill; past them the least recently used values leave."""

    namespaces: Mapping[str, int] = field(default_factory=dict)
    default: int = 1 << 30

    def of(self, namespace: str) -> int:
        """The bytes that this namespace may fill."""
        return self.namespaces.get(namespace, self.default)

    def check(self, namespace: str, size: int) -> None:
        """Raise ``TooLarge`` for a value that the namespace could never hold."""
        if size > self.of(namespace):
            raise TooLarge(
                f"A value of {size} bytes is larger than the {self.of(namespace)} bytes that "
                f"this server keeps for '{namespace}'."
            )


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do one thing until it expires; ``token`` grows with every grant (fencing)."""

    name: str
    owner: str
    token: int
    ttl: float


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a stream. Ids count 1, 2, 3 within their stream, trimmed entries included."""

    id: int
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Keys in order, and the cursor of those that follow; ``None`` after the last."""

    keys: list[str]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Usage:
    """How full a namespace is. Values that expired may count until they are swept."""

    entries: int
    bytes: int
    limit: int


class Store(Protocol):
    """Values, leases and streams. All times to live are seconds; ``None`` means until evicted."""

    async def get(self, ns: str, key: str) -> bytes | None:
        """The value, which becomes the most recently used of its namespace."""
        ...

    async def put(
        self,
        ns: str,
        key: str,
        value: bytes,
        *,
        ttl: float | None = None,
        fence: Lease | None = None,
    ) -> bool:
        """Keep a value, whole or not at all; ``False`` when ``fence`` is no longer held."""
        ...

    async def put_if_absent(
        self, ns: str, key: str, value: bytes, *, ttl: float | None = None
    ) -> bool:
        """Keep a value where there is none; ``False`` when there is."""
        ...

    async def delete(self, ns: str, key: str) -> bool:
        """Whether there was a value to delete."""
        ...

    async def touch(self, ns: str, key: str, *, ttl: float | None = None) -> bool:
        """Mark a value as used and, given ``ttl``, let it live that long from now."""
        ...

    async def scan(
        self, ns: str, cursor: str | None = None, limit: int = 100, *, reverse: bool = False
    ) -> Page:
        """One page of the keys in order of their code points."""
        ...

    async def acquire(self, name: str, ttl: float) -> Lease | None:
        """A lease nobody else holds, or ``None``."""
        ...

    async def renew(self, lease: Lease) -> bool:
        """Start the lease's ``ttl`` anew; ``False`` when it has been lost."""
        ...

    async def release(self, lease: Lease) -> bool:
        """Give the lease back and wake those who wait; ``False`` when it had been lost."""
        ...

    async def wait(self, name: str, timeout_s: float) -> bool:
        """Wait until nobody holds the lease; ``False`` when the time is up before."""
        ...

    async def append(
        self,
        stream: str,
        fields: Mapping[str, Any],
        *,
        ttl: float | None = None,
        max_events: int = MAX_EVENTS,
    ) -> int:
        """Add an event (msgpack-able fields), drop the oldest past ``max_events``; its id."""
        ...

    async def read(
        self, stream: str, after: int = 0, wait_s: float = 0.0, limit: int = 1000
    ) -> list[Event]:
        """Events with ids above ``after``; with none yet, wait up to ``wait_s`` for the first."""
        ...

    async def drop(self, stream: str) -> bool:
        """Whether there was a stream to drop; a later one of that name counts on from it."""
        ...

    async def stats(self) -> dict[str, Usage]:
        """How full each namespace is."""
        ...

    async def ping(self) -> None:
        """Return when the store answers; raises ``Unavailable`` when it does not."""
        ...

    def status(self) -> dict[str, Any]:
        """Kind, state (``ok`` or ``degraded``), and since when and why it is degraded."""
        ...

    async def close(self) -> None:
        """Let go of connections and threads. Waiters wake with ``Unavailable``."""
        ...


def check_namespace(ns: str) -> str:
    """The namespace itself; ``ValueError`` when it is not a short lower-case word."""
    if not _NAMESPACE.fullmatch(ns):
        raise ValueError(f"{ns!r} is not a namespace: lower-case letters, digits and _ only.")
    return ns


def chunks_of(value: bytes) -> list[memoryview]:
    """The pieces a value is moved in; none for a value small enough to be kept in one piece."""
    if len(value) <= INLINE_BYTES:
        return []
    view = memoryview(value)
    return [view[start : start + CHUNK_BYTES] for start in range(0, len(view), CHUNK_BYTES)]
