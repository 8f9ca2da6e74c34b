"""Who is next: each client in turn, and for each its oldest run. Of one process, in memory.

What waits here is in the store as well; another process takes it over when this one dies.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass

from app.core.errors import TooManyRequests

RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The most runs that wait, of one client and altogether."""

    client: int
    total: int


class FairQueue:
    """Run ids by client, taken round-robin between clients."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._waiting: OrderedDict[str, deque[str]] = OrderedDict()
        self._ids: set[str] = set()
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._ids

    def admit(self, client: str) -> None:
        """Raise ``TooManyRequests`` where this client, or everybody, has too many runs waiting."""
        mine = len(self._waiting.get(client, ()))
        if mine >= self._limits.client or len(self._ids) >= self._limits.total:
            raise TooManyRequests(
                f"{mine} of your runs wait already, and {len(self._ids)} altogether",
                hint="Wait for some of them to end, or cancel some",
                retry_after=RETRY_S,
            )

    def put(self, client: str, run_id: str) -> None:
        """Add a run behind the others of its client; one that waits already stays where it is."""
        if run_id in self._ids:
            return
        self._ids.add(run_id)
        self._waiting.setdefault(client, deque()).append(run_id)
        self._filled.set()

    async def get(self) -> str:
        """The next run, as soon as there is one."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        client, runs = next(iter(self._waiting.items()))
        run_id = runs.popleft()
        self._ids.discard(run_id)
        self._waiting.move_to_end(client)
        if not runs:
            del self._waiting[client]
        return run_id

    def discard(self, client: str, run_id: str) -> None:
        """Take a run out that is no longer wanted."""
        if run_id not in self._ids:
            return
        self._ids.discard(run_id)
        runs = self._waiting[client]
        runs.remove(run_id)
        if not runs:
            del self._waiting[client]
