"""The store on a SQLite file: shared by the processes of one host, used when no Redis is given.

Two threads, one that reads and one that writes; the event loop only waits for them. What changes
in another process is noticed by a counter of SQLite's, looked at only while somebody waits.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import sqlite3
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgpack

from app.cache.breaker import Breaker
from app.cache.sqlite import rows
from app.cache.sqlite.file import Lane, SqliteFile, Work, transaction
from app.cache.store import (
    MAX_EVENTS,
    Event,
    Lease,
    Page,
    StoreLimits,
    Usage,
    check_namespace,
    chunks_of,
)
from app.cache.waking import WaitingStore, lease_name, stream_name
from app.core import logging
from app.core.errors import Unavailable

T = TypeVar("T")

OPERATION_S = 10.0
LOOK_S = 0.008
SETTLE_S = 1.0
_AWAY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}


class SqliteStore(WaitingStore):
    """``Store`` on one file; made without a running loop, used within one."""

    def __init__(self, path: Path, limits: StoreLimits) -> None:
        super().__init__()
        self._limits = limits
        self._file = SqliteFile(path, rows.SCHEMA, rows.VERSION)
        self._reader = Lane(self._file, "reader")
        self._writer = Lane(self._file, "writer")
        self._breaker = Breaker("sqlite", self._probe)
        self._used: dict[tuple[str, str], float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._log = logging.get("cache")

    async def _read(self, work: Work[T]) -> T:
        return await self._run(self._reader, work)

    async def _write(self, work: Work[T]) -> T:
        return await self._run(self._writer, transaction(work))

    async def _run(self, lane: Lane, work: Work[T]) -> T:
        self._breaker.check()
        try:
            async with asyncio.timeout(OPERATION_S):
                return await lane.run(work)
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> Unavailable:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None or code & 0xFF in _AWAY:
            self._breaker.trip(error)
        else:
            self._log.warning("store refused an operation", store="sqlite", reason=str(error))
        return self._breaker.unavailable()

    async def _probe(self) -> None:
        async with asyncio.timeout(OPERATION_S):
            await self._reader.run(rows.data_version)
            await self._writer.run(transaction(rows.data_version))

    def _task(self, name: str, start: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = self._tasks.get(name)
        if task is None or task.done():
            self._tasks[name] = asyncio.get_running_loop().create_task(start())

    async def get(self, ns: str, key: str) -> bytes | None:
        check_namespace(ns)
        for _ in range(2):  # once more when the value was replaced between its chunks
            row = await self._read(lambda db: rows.find(db, ns, key))
            if row is None:
                return None
            value = row.value if row.chunks == 0 else await self._gather(row)
            if value is not None:
                self._used[ns, key] = time.time()
                self._task("settle", self._settle)
                return value
        return None

    async def _gather(self, row: rows.Row) -> bytes | None:
        parts: list[bytes] = []
        for n in range(row.chunks):
            part = await self._read(lambda db, n=n: rows.chunk(db, row.gen, n))
            if part is None:
                return None
            parts.append(part)
        return await asyncio.to_thread(b"".join, parts)

    async def _settle(self) -> None:
        """Write down in one go what was read lately."""
        await asyncio.sleep(SETTLE_S)
        used, self._used = self._used, {}
        with suppress(Unavailable):
            await self._write(lambda db: rows.mark_used(db, used))

    async def put(
        self,
        ns: str,
        key: str,
        value: bytes,
        *,
        ttl: float | None = None,
        fence: Lease | None = None,
    ) -> bool:
        return await self._put(ns, key, value, ttl, fence, only_absent=False)

    async def put_if_absent(
        self, ns: str, key: str, value: bytes, *, ttl: float | None = None
    ) -> bool:
        return await self._put(ns, key, value, ttl, None, only_absent=True)

    async def _put(
        self,
        ns: str,
        key: str,
        value: bytes,
        ttl: float | None,
        fence: Lease | None,
        *,
        only_absent: bool,
    ) -> bool:
        self._limits.check(check_namespace(ns), len(value))
        gen, chunks = secrets.randbits(62), chunks_of(value)
        for n, chunk in enumerate(chunks):
            await self._write(lambda db, n=n, chunk=chunk: rows.stage(db, gen, n, chunk))
        row = rows.Row(key, len(value), gen, len(chunks), None if chunks else value)
        limit = self._limits.of(ns)
        used, self._used = self._used, {}

        def work(db: sqlite3.Connection) -> bool:
            rows.mark_used(db, used)
            if fence is not None and not rows.holds(db, fence.name, fence.token):
                return False
            return rows.put(db, ns, row, ttl, limit, only_absent)

        stored = await self._write(work)
        if not stored and chunks:
            await self._write(lambda db: rows.unstage(db, gen))
        return stored

    async def delete(self, ns: str, key: str) -> bool:
        check_namespace(ns)
        return await self._write(lambda db: rows.delete(db, ns, key))

    async def touch(self, ns: str, key: str, *, ttl: float | None = None) -> bool:
        check_namespace(ns)
        return await self._write(lambda db: rows.touch(db, ns, key, ttl))

    async def scan(
        self, ns: str, cursor: str | None = None, limit: int = 100, *, reverse: bool = False
    ) -> Page:
        check_namespace(ns)
        keys = await self._read(lambda db: rows.scan(db, ns, cursor, limit, reverse))
        return Page(keys, keys[-1] if len(keys) == limit else None)

    async def acquire(self, name: str, ttl: float) -> Lease | None:
        owner = secrets.token_hex(16)
        token = await self._write(lambda db: rows.acquire(db, name, owner, ttl))
        return None if token is None else Lease(name, owner, token, ttl)

    async def renew(self, lease: Lease) -> bool:
        return await self._write(lambda db: rows.renew(db, lease.name, lease.token, lease.ttl))

    async def release(self, lease: Lease) -> bool:
        held = await self._write(lambda db: rows.release(db, lease.name, lease.token))
        self._waiters.wake(lease_name(lease.name))
        return held

    async def _lease_left(self, name: str) -> float:
        return await self._read(lambda db: rows.lease_left(db, name))

    async def append(
        self,
        stream: str,
        fields: Mapping[str, Any],
        *,
        ttl: float | None = None,
        max_events: int = MAX_EVENTS,
    ) -> int:
        payload = msgpack.Packer().pack(dict(fields))
        id_ = await self._write(lambda db: rows.append(db, stream, payload, ttl, max_events))
        self._waiters.wake(stream_name(stream))
        return id_

    async def _events(self, stream: str, after: int, limit: int) -> list[Event]:
        found = await self._read(lambda db: rows.events(db, stream, after, limit))
        return [Event(id_, msgpack.unpackb(payload)) for id_, payload in found]

    async def drop(self, stream: str) -> bool:
        return await self._write(lambda db: rows.drop(db, stream))

    def _expect_changes(self) -> float:
        self._task("look", self._look)
        return 0.25

    async def _look(self) -> None:
        """Wake everybody when another process has written, for as long as anybody waits."""
        seen: int | None = None
        while len(self._waiters):
            try:
                now = await self._read(rows.data_version)
            except Unavailable:
                self._waiters.wake_all()
                return
            if now != seen:
                self._waiters.wake_all()
            seen = now
            await asyncio.sleep(LOOK_S * random.uniform(0.75, 1.25))

    async def stats(self) -> dict[str, Usage]:
        found = await self._read(rows.usage)
        return {ns: Usage(entries, size, self._limits.of(ns)) for ns, entries, size in found}

    async def ping(self) -> None:
        await self._read(rows.data_version)

    def status(self) -> dict[str, Any]:
        return {**self._breaker.status(), "repairs": self._file.repairs}

    async def close(self) -> None:
        await self._breaker.close()
        self._waiters.wake_all()
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        await self._reader.close()
        await self._writer.close()
