"""Compiled programs in the store: first-level key to second-level key to executable.

The cache is an aid: whatever happens to the store, callers see a miss, never an error. What it
returns was signed by this deployment under the very key that was asked for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.cache.flight import Flights
from app.cache.sealed import SealedValues
from app.cache.signing import Signer
from app.cache.store import Store
from app.core import logging
from app.core.errors import ProblemError, Unavailable

Accept = Callable[[Mapping[str, Any]], bool]
"""Whether this host can run a program, by its metadata: CPU features, platform, versions."""

KEYS, PROGRAMS = "l1", "prog"


@dataclass(frozen=True, slots=True)
class Entry:
    """A compiled program. ``blob`` is ``None`` for one that cannot be serialised."""

    l2: str
    meta: dict[str, Any]
    blob: bytes | None


class ProgramCache:
    """Finds and keeps programs, and sees to it that each is compiled once.

    ``variant`` tells apart hosts whose second-level keys differ for the same first-level key
    (versions, CPU features, device kind), so that they do not overwrite each other's records.
    """

    def __init__(self, store: Store, signer: Signer, variant: str = "") -> None:
        self.counters: Counter[str] = Counter(
            hit=0, miss=0, load=0, refused=0, store_down=0, put=0, put_failed=0
        )
        self._store = store
        self._variant = variant
        self._keys = SealedValues(store, signer, KEYS)
        self._programs = SealedValues(store, signer, PROGRAMS)
        self._flights = Flights(store)
        self._making: dict[str, _Making] = {}
        self._log = logging.get("cache")

    async def find(self, l1: str, accept: Accept | None = None) -> Entry | None:
        """The program of a first-level key, or ``None``: counted as a hit or a miss."""
        entry = await self._find(l1, accept)
        self.counters["miss" if entry is None else "hit"] += 1
        return entry

    async def _find(self, l1: str, accept: Accept | None) -> Entry | None:
        try:
            record = await self._keys.get(self._name(l1))
            return None if record is None else await self._load(record.meta["l2"], accept)
        except Unavailable:
            self.counters["store_down"] += 1
            return None

    async def find_l2(self, l2: str, accept: Accept | None = None) -> Entry | None:
        """The program of a second-level key, or ``None``."""
        try:
            return await self._load(l2, accept)
        except Unavailable:
            self.counters["store_down"] += 1
            return None

    async def _load(self, l2: str, accept: Accept | None) -> Entry | None:
        opened = await self._programs.get(l2)
        if opened is None:
            return None
        meta = opened.meta["meta"]
        if accept is not None and not accept(meta):
            self.counters["refused"] += 1
            self._log.info("program refused by this host", l2=l2)
            return None
        self.counters["load"] += 1
        return Entry(l2, meta, opened.content if opened.meta["blob"] else None)

    async def put(self, l1: str, l2: str, meta: Mapping[str, Any], blob: bytes | None) -> bool:
        """Keep a program and the record that leads to it; whether that was possible."""
        about = {"meta": dict(meta), "blob": blob is not None}
        try:
            await self._programs.put(l2, about, blob or b"")
            await self._keys.put(self._name(l1), {"l2": l2})
        except Unavailable:
            self.counters["store_down"] += 1
        except ProblemError as error:
            self._log.warning("program is not kept", l2=l2, reason=error.detail)
        else:
            self.counters["put"] += 1
            return True
        self.counters["put_failed"] += 1
        return False

    async def link(self, l1: str, l2: str) -> bool:
        """Let another first-level key lead to a program that is there already."""
        try:
            return await self._keys.put(self._name(l1), {"l2": l2})
        except Unavailable:
            self.counters["store_down"] += 1
            return False

    @asynccontextmanager
    async def flight(self, l1: str) -> AsyncIterator[bool]:
        """Yield whether to compile; others wait till the leader ends, then ``find`` again."""
        async with self._flights.flight(self._name(l1)) as leader:
            yield leader

    async def find_or_make(
        self, l1: str, make: Callable[[], Awaitable[Entry]], accept: Accept | None = None
    ) -> tuple[Entry, bool]:
        """The program, and whether ``make`` made it: by one caller of all processes at a time.

        ``make`` compiles and puts. Callers of this process share one making: its result and what
        it raises. It is cancelled when the last of them has gone.
        """
        making = self._making.get(l1)
        if making is None:
            task = asyncio.get_running_loop().create_task(self._find_or_make(l1, make, accept))
            making = self._making[l1] = _Making(task)
            task.add_done_callback(lambda _: self._forget(l1, making))
        making.waiting += 1
        try:
            await asyncio.wait([making.task])
        finally:
            making.waiting -= 1
            if making.waiting == 0 and not making.task.done():
                self._forget(l1, making)
                making.task.cancel()
        return making.task.result()

    def _forget(self, l1: str, making: _Making) -> None:
        if self._making.get(l1) is making:
            del self._making[l1]
        if making.task.done() and not making.task.cancelled():
            making.task.exception()  # seen, even when nobody waits for it any more

    async def _find_or_make(
        self, l1: str, make: Callable[[], Awaitable[Entry]], accept: Accept | None
    ) -> tuple[Entry, bool]:
        entry = await self.find(l1, accept)
        while entry is None:
            async with self.flight(l1) as leader:
                # Another may have made it between our look and our flight: no second miss.
                entry = await self._find(l1, accept)
                if entry is None and leader:
                    return await make(), True
        return entry, False

    def refusals(self) -> Counter[str]:
        """Entries refused, by reason: signature, truncated, version, host."""
        host = Counter({"host": self.counters["refused"]})
        return self._keys.refused + self._programs.refused + host

    def status(self) -> dict[str, Any]:
        """The store's state and what was counted."""
        counters = {**self.counters, "refused": self.refusals().total()}
        return {"store": self._store.status(), "counters": counters}

    def _name(self, l1: str) -> str:
        return f"{l1}.{self._variant}" if self._variant else l1


@dataclass(slots=True)
class _Making:
    """A program being found or made, and how many wait for it."""

    task: asyncio.Task[tuple[Entry, bool]]
    waiting: int = 0
