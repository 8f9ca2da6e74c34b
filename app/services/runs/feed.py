"""Events of a run for many listeners: one reader of the store a run and process, shared by all."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.core import logging
from app.core.errors import Unavailable
from app.services.runs.journal import Journal
from app.services.runs.run import FINAL, Run

LOOK_S = 15.0
"""After this long without an event, whether the run ended unheard is looked up."""
AWAY_S = 1.0
KEPT, TRIMMED = 4000, 2000
KINDS = frozenset({"status", "progress", "result", "problem"})


@dataclass(frozen=True, slots=True)
class Told:
    """One event as it is told: its id within the run, its kind, its JSON."""

    id: int
    kind: str
    data: bytes


Render = Callable[[Run, str, dict[str, Any]], Awaitable[bytes]]


class Feed:
    """The events of one run, read as they come while anybody listens."""

    def __init__(self, journal: Journal, run: Run, render: Render) -> None:
        self.listeners = 0
        self.ended = False
        self._journal = journal
        self._run = run
        self._render = render
        self._events: list[Told] = []
        self._grown = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._read())

    def close(self) -> None:
        """Read no more."""
        self._task.cancel()

    def wake(self) -> None:
        """Let every listener look again."""
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    def after(self, last: int) -> list[Told]:
        """Events with ids above ``last``."""
        return self._events[bisect_right(self._events, last, key=lambda told: told.id) :]

    async def grow(self, longest_s: float) -> bool:
        """Wait for more; whether something happened within the time."""
        try:
            async with asyncio.timeout(longest_s):
                await self._grown.wait()
        except TimeoutError:
            return False
        return True

    async def _read(self) -> None:
        wait_s = 0.0
        while not self.ended:
            try:
                last = self._events[-1].id if self._events else 0
                events = await self._journal.events(self._run.id, last, wait_s)
                for event in events:
                    await self._take(event.id, event.fields)
                if not events:
                    await self._look(last)
                wait_s = LOOK_S
            except Unavailable:
                await asyncio.sleep(AWAY_S)
            except Exception as error:  # noqa: BLE001  listeners must not wait for ever
                logging.get("runs").error("unforeseen", exc_info=error)
                self.ended = True
            self.wake()

    async def _take(self, id_: int, fields: dict[str, Any]) -> None:
        kind, data = fields.get("kind"), fields.get("data")
        if kind not in KINDS or not isinstance(data, dict):
            return
        self._events.append(Told(id_, kind, await self._render(self._run, kind, data)))
        if len(self._events) > KEPT:
            del self._events[:TRIMMED]
        self.ended = kind == "status" and data.get("status") in FINAL

    async def _look(self, last: int) -> None:
        """Tell the end of a run whose last events were lost with the process that worked on it."""
        run = await self._journal.load(self._run.id)
        if run is None:
            self.ended = True
        elif run.is_final:
            if run.status == "done":
                await self._take(last + 1, {"kind": "result", "data": {}})
            elif run.problem is not None:
                await self._take(last + 1, {"kind": "problem", "data": run.problem})
            said = {"run": run.id, "status": run.status}
            await self._take(last + 2, {"kind": "status", "data": said})


class Feeds:
    """The feeds of one process, each open while it has a listener."""

    def __init__(self, journal: Journal, render: Render) -> None:
        self._journal = journal
        self._render = render
        self._open: dict[str, Feed] = {}
        self._closing = False

    def __len__(self) -> int:
        return sum(feed.listeners for feed in self._open.values())

    def drain(self) -> None:
        """Let every listener go: they find the run at another process."""
        self._closing = True
        for feed in self._open.values():
            feed.wake()

    @asynccontextmanager
    async def _joined(self, run: Run) -> AsyncIterator[Feed]:
        feed = self._open.get(run.id)
        if feed is None:
            feed = self._open[run.id] = Feed(self._journal, run, self._render)
        feed.listeners += 1
        try:
            yield feed
        finally:
            feed.listeners -= 1
            if not feed.listeners:
                feed.close()
                self._open.pop(run.id, None)

    async def listen(self, run: Run, last: int, quiet_s: float) -> AsyncIterator[list[Told]]:
        """Events after ``last`` as they come, until the last; nothing for each ``quiet_s``."""
        async with self._joined(run) as feed:
            while True:
                events = feed.after(last)
                if events:
                    last = events[-1].id
                    yield events
                elif feed.ended or self._closing:
                    return
                elif not await feed.grow(quiet_s):
                    yield []
