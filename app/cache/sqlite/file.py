"""The SQLite file and the one thread that talks to it: opened, repaired, closed.

A file that is damaged, or of another version, is moved aside and a new one made: it is a cache and
a record of runs, never the only copy of what a user sent. Nothing here knows what is stored.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from app.core import logging

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_S = 2.0
PAGE_BYTES = 32 << 10
"""Arrays of megabytes are written, read and deleted in a fraction of the time that SQLite's usual
pages of 4 KiB take; small rows cost little more."""
BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What damage raises; a message that quotes a damaged schema may be no text at all."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class SqliteFile:
    """Makes connections to one file, with its schema in place."""

    def __init__(self, path: Path, schema: str, version: int) -> None:
        self.path = path
        self.repairs = 0
        self._schema = schema
        self._version = version
        self._log = logging.get("cache")

    def connect(self) -> tuple[sqlite3.Connection, int]:
        """A connection, and the inode it is to; a damaged file is replaced first."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            try:
                return self._open()
            except BROKEN as error:
                if not is_damage(error):
                    raise
                self._set_aside(str(error))
            return self._open()

    def replace_damaged(self, inode: int, reason: str) -> None:
        """Move the file with this inode aside, unless another process has done so already."""
        with self._locked():
            if self.inode() == inode:
                self._set_aside(reason)

    def inode(self) -> int:
        """Which file lies at the path now; 0 for none."""
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return 0

    def _open(self) -> tuple[sqlite3.Connection, int]:
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        inode = self.inode()
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                version = f"PRAGMA user_version = {self._version};"
                connection.executescript(f"BEGIN; {self._schema} {version} COMMIT;")
            elif version != self._version:
                raise StaleFileError(f"version {version} is not {self._version}")
        except BaseException:
            connection.close()
            raise
        return connection, inode

    def _set_aside(self, reason: str) -> None:
        aside = self.path.with_name(self.path.name + ".damaged")
        self._log.warning("store file was moved aside", path=str(aside), reason=reason)
        self.repairs += 1
        for suffix in ("", "-wal", "-shm"):
            source = self.path.with_name(self.path.name + suffix)
            if source.exists():
                source.replace(aside.with_name(aside.name + suffix))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = os.open(self.path.with_name(self.path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


class StaleFileError(sqlite3.DatabaseError):
    """The file was written by another version of this server."""


class Lane:
    """One thread with one connection; work is done in the order it came."""

    def __init__(self, file: SqliteFile, name: str) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"store-{name}")
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._closed = False

    async def run(self, work: Work[T]) -> T:
        """Do the work on the lane's thread; raises what ``sqlite3`` does, save for damage."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: Work[T]) -> T:
        try:
            return work(self._connected())
        except BROKEN as error:
            if not is_damage(error):
                raise
            self._disconnect()
            self._file.replace_damaged(self._inode, str(error))
        return work(self._connected())

    def _connected(self) -> sqlite3.Connection:
        # Another process may have moved the file aside: never go on with one that left the path.
        if self._connection is not None and self._file.inode() != self._inode:
            self._disconnect()
        if self._connection is None:
            self._connection, self._inode = self._file.connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def close(self) -> None:
        """Finish the work at hand, close the connection, end the thread; once is enough."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown(wait=False)


def transaction(work: Work[T]) -> Work[T]:
    """The same work as one write transaction: whole or not at all."""

    def whole(connection: sqlite3.Connection) -> T:
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    return whole


def is_damage(error: Exception) -> bool:
    """Whether the error says that the file itself is broken, not that it is busy or full."""
    code = getattr(error, "sqlite_errorcode", None)
    return (
        isinstance(error, (StaleFileError, UnicodeDecodeError))
        or "Could not decode to UTF-8" in str(error)
        or (code is not None and code & 0xFF in _DAMAGED)
        or (code == sqlite3.SQLITE_IOERR_SHORT_READ)
    )
