"""Works on runs: a bounded number at once, each under its lease, each brought to its end.

A run that began elsewhere and was left behind begins here again. What the runner of one process
holds, others see by the leases alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from app.cache.store import Lease
from app.core import logging
from app.core.errors import InternalError, ProblemError, Unavailable, WorkerLost
from app.services.runs.hold import Hold, Stopped
from app.services.runs.journal import Journal
from app.services.runs.packing import Result
from app.services.runs.progress import Progress
from app.services.runs.queue import FairQueue
from app.services.runs.run import Run, made_at
from app.services.runs.work import Work, patiently

MOST_ATTEMPTS = 20
YOUNG_S = 60.0
GIVE_BACK_S = 5.0
SETTLE_S = 600.0
"""How long the end of a run is tried to be kept while the store is away."""


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """How many runs at once, and after how many seconds without a sign another takes one over."""

    slots: int
    lease_s: float


class Runner:
    """The slots of one process."""

    def __init__(
        self, journal: Journal, queue: FairQueue, work: Work, settings: RunnerSettings
    ) -> None:
        self._journal = journal
        self._queue = queue
        self._work = work
        self._settings = settings
        self._holds: dict[str, Hold] = {}
        self._slots: list[asyncio.Task[None]] = []
        self._busy = 0
        self._closed = False
        self.ended: Counter[str] = Counter()
        self._log = logging.get("runs")

    def start(self) -> None:
        """Begin to take runs from the queue."""
        loop = asyncio.get_running_loop()
        self._slots = [loop.create_task(self._slot()) for _ in range(self._settings.slots)]

    def holds(self, run_id: str) -> bool:
        """Whether this process works on a run now."""
        return run_id in self._holds

    def __len__(self) -> int:
        return len(self._holds)

    def drain(self) -> None:
        """Take no more, and give back what is being worked on."""
        self._closed = True
        for hold in self._holds.values():
            hold.stop("drained")

    async def stop(self) -> None:
        """Drain, and wait until everything was given back."""
        self.drain()
        until = time.monotonic() + GIVE_BACK_S
        while self._busy and time.monotonic() < until:
            await asyncio.sleep(0.01)
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)

    async def _slot(self) -> None:
        while not self._closed:
            run_id = await self._queue.get()
            self._busy += 1
            try:
                await self._take(run_id)
            except Unavailable:
                self._log.info("the store is away; the run is found again later", run=run_id)
                await asyncio.sleep(1.0)
            except Exception as error:  # noqa: BLE001  a slot must outlive whatever a run does
                self._log.error("unforeseen", run=run_id, exc_info=error)
            finally:
                self._busy -= 1

    async def _take(self, run_id: str) -> None:
        lease = await self._journal.acquire(run_id, self._settings.lease_s)
        if lease is None:
            return
        async with Hold(self._journal, run_id, lease) as hold:
            run = await self._journal.load(run_id)
            if run is None or run.is_final:
                # A record that is not there yet may be about to be written.
                if run is not None or time.time() - made_at(run_id) > YOUNG_S:
                    await self._journal.leave(run_id)
                return
            self._holds[run_id] = hold
            try:
                if self._closed:
                    return
                await self._serve(run, hold)
            finally:
                del self._holds[run_id]

    async def _serve(self, run: Run, hold: Hold) -> None:
        run = run.begun()
        if not await self._journal.save(run, hold.lease):
            return
        await self._journal.tell(run.id, "status", {"run": run.id, "status": run.status})
        progress = Progress(self._journal, run, hold.lease)
        result: Result | None = None
        try:
            if run.attempts > MOST_ATTEMPTS:
                raise WorkerLost(f"The run was begun {MOST_ATTEMPTS} times and never ended")
            result = await hold.work(self._work.do(run.id, progress, hold))
        except Stopped as stopped:
            if stopped.reason == "lost":
                self._log.warning("a run was lost to another process", run=run.id)
                await progress.abandon()
                return
            run = await progress.flush()
            if stopped.reason == "drained":
                await self._give_back(run, hold.lease)
                return
            run = run.finished("cancelled")
        except ProblemError as error:
            run = (await progress.flush()).finished("failed", error.to_problem())
        except Exception as error:  # noqa: BLE001  a run fails; the server goes on
            self._log.error("unforeseen", run=run.id, exc_info=error)
            problem = InternalError("Something went wrong on our side").to_problem()
            run = (await progress.flush()).finished("failed", problem)
        else:
            run = (await progress.flush()).finished("done")
        await self._settle(run, hold.lease, result)

    async def _give_back(self, run: Run, lease: Lease) -> None:
        run = run.given_back()
        if await self._journal.save(run, lease):
            await self._journal.tell(run.id, "status", {"run": run.id, "status": run.status})

    async def _settle(self, run: Run, lease: Lease, result: Result | None) -> None:
        until = time.monotonic() + SETTLE_S
        try:
            kept = await patiently(lambda: self._journal.close(run, lease, result), until)
        except ProblemError as error:
            if isinstance(error, Unavailable):
                raise
            # A result that the store does not take (too large) is a failure that it does take.
            failed = run.finished("failed", error.to_problem())
            kept = await patiently(lambda: self._journal.close(failed, lease), until)
        if not kept:
            self._log.warning("a run was lost to another process", run=run.id)
            return
        self.ended[run.status] += 1
