"""Progress of one run: told as it comes, published at a bounded rate and never waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.cache.store import Lease
from app.core.errors import Unavailable
from app.services.runs.journal import Journal
from app.services.runs.run import Run

EVENT_S = 0.1
RECORD_S = 1.0


class Progress:
    """``tell`` keeps the latest; one task publishes: events each 0.1 s, a record each second."""

    def __init__(self, journal: Journal, run: Run, lease: Lease) -> None:
        self.run = run
        self._journal = journal
        self._lease = lease
        self._latest: dict[str, Any] | None = None
        self._publishing: asyncio.Task[None] | None = None
        self._told = 0.0
        self._recorded = 0.0

    def tell(self, latest: dict[str, Any]) -> None:
        """Publish this, unless something newer comes before its turn."""
        self._latest = latest
        if self._publishing is None or self._publishing.done():
            self._publishing = asyncio.get_running_loop().create_task(self._publish())

    def amend(self, changed: Mapping[str, Any]) -> None:
        """Tell the latest again, with some of it changed."""
        self.tell({**(self._latest or self.run.progress or {}), **changed})

    async def _publish(self) -> None:
        while self._latest is not None:
            await asyncio.sleep(max(0.0, self._told + EVENT_S - time.monotonic()))
            await self._once()

    async def _once(self) -> None:
        latest, self._latest = self._latest, None
        if latest is None:
            return
        self._told = time.monotonic()
        self.run = replace(self.run, progress=latest)
        try:
            await self._journal.tell(self.run.id, "progress", latest)
            if self._told - self._recorded >= RECORD_S:
                self._recorded = self._told
                await self._journal.save(self.run, self._lease)
        except Unavailable:
            return  # the next one will do

    async def flush(self) -> Run:
        """Publish what is left; the run with its last progress."""
        await self.abandon()
        await self._once()
        return self.run

    async def abandon(self) -> None:
        """Publish nothing more."""
        if self._publishing is not None:
            self._publishing.cancel()
            await asyncio.wait([self._publishing])
            self._publishing = None
