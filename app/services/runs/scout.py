"""A sign of life for this process's runs, and an eye on those that other processes left behind."""

from __future__ import annotations

import asyncio
import secrets

from app.cache.store import Lease, Store
from app.core import logging
from app.core.errors import Unavailable
from app.services.runs.journal import OPEN, Journal
from app.services.runs.queue import FairQueue
from app.services.runs.runner import Runner

PAGE = 500


class Scout:
    """Keeps the lease of this process, which is the ``home`` of the runs that wait in it."""

    def __init__(self, journal: Journal, queue: FairQueue, runner: Runner, lease_s: float) -> None:
        self.home = secrets.token_hex(8)
        self._journal = journal
        self._store: Store = journal.store
        self._queue = queue
        self._runner = runner
        self.lease_s = lease_s
        self._lease: Lease | None = None
        self._settling = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._log = logging.get("runs")

    def start(self) -> None:
        """Begin to look around, at once and then every third of a lease."""
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        """Stop looking, and let others take what waits here."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._lease is not None:
            try:
                await self._store.release(self._lease)
            except Unavailable:
                return

    async def settle(self) -> None:
        """Give this process's first sign of life, before a run is kept under its name."""
        async with self._settling:
            if self._lease is None:
                self._lease = await self._store.acquire(_home(self.home), self.lease_s)

    async def _renew(self) -> None:
        async with self._settling:
            if self._lease is not None and not await self._store.renew(self._lease):
                self._lease = None
        await self.settle()

    async def _watch(self) -> None:
        while True:
            try:
                await self._renew()
                await self._adopt()
            except Unavailable:
                pass  # nothing can be told or seen; look again
            except Exception as error:  # noqa: BLE001  the watch must not end
                self._log.error("unforeseen", exc_info=error)
            await asyncio.sleep(self.lease_s / 3)

    async def _adopt(self) -> None:
        living = {self.home: True}
        cursor: str | None = None
        while True:
            page = await self._store.scan(OPEN, cursor, PAGE)
            for run_id in page.keys:
                if run_id not in self._queue and not self._runner.holds(run_id):
                    await self._consider(run_id, living)
            cursor = page.cursor
            if cursor is None:
                return

    async def _consider(self, run_id: str, living: dict[str, bool]) -> None:
        value = await self._store.get(OPEN, run_id)
        if value is None:
            return
        home = value.decode("ascii", "replace")
        if home not in living:
            living[home] = not await self._store.wait(_home(home), 0.0)
        if home != self.home:
            if living[home]:
                return
            await self._store.put(OPEN, run_id, self.home.encode())
            self._log.info("a run was taken over", run=run_id)
        # Who works on it is decided by its lease; a record that has not come yet is left alone.
        run = await self._journal.load(run_id)
        self._queue.put("" if run is None else run.client, run_id)


def _home(name: str) -> str:
    return f"runner/{name}"
