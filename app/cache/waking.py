"""Waiting for a lease to be free or a stream to grow, the same for every store.

A change made in this process wakes its waiters at once; one made elsewhere arrives through the
store (pub/sub, a change counter). Waiters poll as well: a lost message costs time, never an answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod

from app.cache.store import Event


class Waiters:
    """Futures by name; a wake resolves all of a name."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def join(self, name: str) -> asyncio.Future[None]:
        """A future that the next wake resolves: join first, then look, then rest."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, set()).add(future)
        return future

    def leave(self, name: str, future: asyncio.Future[None]) -> None:
        """Stop waiting."""
        future.cancel()
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.discard(future)
            if not waiting:
                del self._waiting[name]

    def wake(self, name: str) -> None:
        """Wake those who wait for this name."""
        for future in self._waiting.pop(name, ()):
            if not future.done():
                future.set_result(None)

    def wake_all(self) -> None:
        """Wake everybody: something changed, nobody knows what."""
        for name in list(self._waiting):
            self.wake(name)


class WaitingStore(ABC):
    """The waiting half of a store, over looks that do not wait."""

    def __init__(self) -> None:
        self._waiters = Waiters()

    @abstractmethod
    async def _lease_left(self, name: str) -> float:
        """Seconds until the lease expires; 0 when nobody holds it."""

    @abstractmethod
    async def _events(self, stream: str, after: int, limit: int) -> list[Event]:
        """Events there already are."""

    @abstractmethod
    def _expect_changes(self) -> float:
        """See to it that changes made elsewhere wake us; the seconds to poll at meanwhile."""

    async def wait(self, name: str, timeout_s: float) -> bool:
        """Wait until nobody holds the lease; ``False`` when the time is up before."""
        end = time.monotonic() + timeout_s
        while True:
            future = self._waiters.join(lease_name(name))
            try:
                held_s = await self._lease_left(name)
                left_s = end - time.monotonic()
                if held_s <= 0 or left_s <= 0:
                    return held_s <= 0
                await self._rest(future, min(held_s, left_s))
            finally:
                self._waiters.leave(lease_name(name), future)

    async def read(
        self, stream: str, after: int = 0, wait_s: float = 0.0, limit: int = 1000
    ) -> list[Event]:
        """Events with ids above ``after``; with none yet, wait up to ``wait_s`` for the first."""
        end = time.monotonic() + wait_s
        while True:
            future = self._waiters.join(stream_name(stream))
            try:
                events = await self._events(stream, after, limit)
                left_s = end - time.monotonic()
                if events or left_s <= 0:
                    return events
                await self._rest(future, left_s)
            finally:
                self._waiters.leave(stream_name(stream), future)

    async def _rest(self, future: asyncio.Future[None], longest_s: float) -> None:
        poll_s = self._expect_changes() * random.uniform(0.75, 1.25)
        await asyncio.wait([future], timeout=min(longest_s, poll_s))


def lease_name(name: str) -> str:
    """The name under which a lease's release is announced."""
    return f"lease:{name}"


def stream_name(stream: str) -> str:
    """The name under which a stream's events are announced."""
    return f"stream:{stream}"
