"""What lies in the SQLite file: its schema, and each operation as work on a connection.

Synchronous, for a ``Lane`` to run. Times are seconds of the wall clock, which every process of one
host shares; a lease granted in the future means that the clock was set back, and has ended.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

VERSION = 1

SCHEMA = """
CREATE TABLE entry (
  ns TEXT NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL, gen INTEGER NOT NULL,
  chunks INTEGER NOT NULL, used REAL NOT NULL, expires REAL, value BLOB, UNIQUE (ns, key)
);
CREATE INDEX entry_used ON entry (ns, used);
CREATE INDEX entry_expires ON entry (expires) WHERE expires IS NOT NULL;
CREATE TABLE chunk (
  gen INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (gen, n)
);
CREATE TABLE staged (gen INTEGER PRIMARY KEY, made REAL NOT NULL);
CREATE TABLE usage (ns TEXT PRIMARY KEY, entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TRIGGER entry_in AFTER INSERT ON entry BEGIN
  INSERT OR IGNORE INTO usage VALUES (new.ns, 0, 0);
  UPDATE usage SET entries = entries + 1, bytes = bytes + new.size WHERE ns = new.ns;
END;
CREATE TRIGGER entry_out AFTER DELETE ON entry BEGIN
  UPDATE usage SET entries = entries - 1, bytes = bytes - old.size WHERE ns = old.ns;
  DELETE FROM chunk WHERE gen = old.gen;
END;
CREATE TABLE lease (
  name TEXT PRIMARY KEY, owner TEXT NOT NULL, token INTEGER NOT NULL,
  granted REAL NOT NULL, expires REAL NOT NULL
);
CREATE TABLE token (last INTEGER NOT NULL);
INSERT INTO token VALUES (0);
CREATE TABLE event (
  stream TEXT NOT NULL, id INTEGER NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (stream, id)
);
CREATE TABLE stream (name TEXT PRIMARY KEY, expires REAL);
"""

STAGED_S = 600.0
_ALIVE = "(expires IS NULL OR expires > :now)"
_HELD = "name = :name AND expires > :now AND granted <= :now + 1"


@dataclass(frozen=True, slots=True)
class Row:
    """An entry without its chunks; ``value`` is there when ``chunks`` is 0."""

    key: str
    size: int
    gen: int
    chunks: int
    value: bytes | None


def find(db: sqlite3.Connection, ns: str, key: str) -> Row | None:
    """The living entry of this key."""
    found = db.execute(
        "SELECT key, size, gen, chunks, value FROM entry "
        f"WHERE ns = :ns AND key = :key AND {_ALIVE}",
        {"ns": ns, "key": key, "now": time.time()},
    ).fetchone()
    return None if found is None else Row(*found)


def chunk(db: sqlite3.Connection, gen: int, n: int) -> bytes | None:
    """One piece of a large value."""
    found = db.execute("SELECT data FROM chunk WHERE gen = ? AND n = ?", (gen, n)).fetchone()
    return None if found is None else found[0]


def stage(db: sqlite3.Connection, gen: int, n: int, data: memoryview) -> None:
    """Write one piece of a value that is not there yet."""
    db.execute("INSERT OR IGNORE INTO staged VALUES (?, ?)", (gen, time.time()))
    db.execute("INSERT INTO chunk VALUES (?, ?, ?)", (gen, n, data))


def unstage(db: sqlite3.Connection, gen: int) -> None:
    """Forget the pieces of a value that will not be."""
    db.execute("DELETE FROM chunk WHERE gen = ?", (gen,))
    db.execute("DELETE FROM staged WHERE gen = ?", (gen,))


def put(
    db: sqlite3.Connection, ns: str, row: Row, ttl: float | None, limit: int, only_absent: bool
) -> bool:
    """Set the entry and evict the least recently used until the namespace fits."""
    now = time.time()
    sweep(db, now)
    if only_absent and find(db, ns, row.key) is not None:
        return False
    delete(db, ns, row.key)
    expires = None if ttl is None else now + ttl
    db.execute(
        "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (ns, row.key, row.size, row.gen, row.chunks, now, expires, row.value),
    )
    db.execute("DELETE FROM staged WHERE gen = ?", (row.gen,))
    _evict(db, ns, row.key, limit)
    return True


def _evict(db: sqlite3.Connection, ns: str, keep: str, limit: int) -> None:
    while db.execute("SELECT bytes FROM usage WHERE ns = ?", (ns,)).fetchone()[0] > limit:
        oldest = db.execute(
            "SELECT rowid FROM entry WHERE ns = ? AND key <> ? ORDER BY used LIMIT 1", (ns, keep)
        ).fetchone()
        if oldest is None:
            return
        db.execute("DELETE FROM entry WHERE rowid = ?", oldest)


def delete(db: sqlite3.Connection, ns: str, key: str) -> bool:
    """Whether a living entry was there; its chunks go with it."""
    living = db.execute(
        f"SELECT 1 FROM entry WHERE ns = :ns AND key = :key AND {_ALIVE}",
        {"ns": ns, "key": key, "now": time.time()},
    ).fetchone()
    db.execute("DELETE FROM entry WHERE ns = ? AND key = ?", (ns, key))
    return living is not None


def touch(db: sqlite3.Connection, ns: str, key: str, ttl: float | None) -> bool:
    """Mark an entry as used now and move its end, given ``ttl``."""
    now = time.time()
    expires = None if ttl is None else now + ttl
    return bool(
        db.execute(
            "UPDATE entry SET used = :now, expires = coalesce(:expires, expires) "
            f"WHERE ns = :ns AND key = :key AND {_ALIVE}",
            {"ns": ns, "key": key, "now": now, "expires": expires},
        ).rowcount
    )


def mark_used(db: sqlite3.Connection, used: Mapping[tuple[str, str], float]) -> None:
    """Write down when entries were last read."""
    rows = [(when, ns, key) for (ns, key), when in used.items()]
    db.executemany("UPDATE entry SET used = max(used, ?) WHERE ns = ? AND key = ?", rows)


def scan(
    db: sqlite3.Connection, ns: str, cursor: str | None, limit: int, reverse: bool
) -> list[str]:
    """Living keys after the cursor, in order."""
    beyond, order = ("<", "DESC") if reverse else (">", "ASC")
    found: Iterable[tuple[str]] = db.execute(
        f"SELECT key FROM entry WHERE ns = :ns AND (:cursor IS NULL OR key {beyond} :cursor) "
        f"AND {_ALIVE} ORDER BY key {order} LIMIT :limit",
        {"ns": ns, "cursor": cursor, "limit": limit, "now": time.time()},
    )
    return [key for (key,) in found]


def usage(db: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """Namespace, entries and bytes of each namespace."""
    return db.execute("SELECT ns, entries, bytes FROM usage ORDER BY ns").fetchall()


def sweep(db: sqlite3.Connection, now: float, most: int = 64) -> None:
    """Remove some of what has expired: entries, staged pieces, streams, leases."""
    db.execute(
        "DELETE FROM entry WHERE rowid IN (SELECT rowid FROM entry WHERE expires <= ? LIMIT ?)",
        (now, most),
    )
    for (gen,) in db.execute("SELECT gen FROM staged WHERE made < ?", (now - STAGED_S,)).fetchall():
        unstage(db, gen)
    for (name,) in db.execute("SELECT name FROM stream WHERE expires <= ?", (now,)).fetchall():
        drop(db, name)
    db.execute("DELETE FROM lease WHERE expires <= ?", (now,))


def acquire(db: sqlite3.Connection, name: str, owner: str, ttl: float) -> int | None:
    """The token of a new lease; ``None`` where another holds it."""
    now = time.time()
    if holds(db, name):
        return None
    last = db.execute("SELECT last FROM token").fetchone()[0]
    token = max(last + 1, int(now * 1e6))
    db.execute("UPDATE token SET last = ?", (token,))
    row = (name, owner, token, now, now + ttl)
    db.execute("INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?)", row)
    return token


def holds(db: sqlite3.Connection, name: str, token: int | None = None) -> bool:
    """Whether the lease is held, by the holder of ``token`` where one is given."""
    found = db.execute(
        f"SELECT token FROM lease WHERE {_HELD}", {"name": name, "now": time.time()}
    ).fetchone()
    return found is not None and (token is None or found[0] == token)


def renew(db: sqlite3.Connection, name: str, token: int, ttl: float) -> bool:
    """Whether the lease was still held, and now is for ``ttl`` more."""
    now = time.time()
    if not holds(db, name, token):
        return False
    row = (now, now + ttl, name)
    db.execute("UPDATE lease SET granted = ?, expires = ? WHERE name = ?", row)
    return True


def release(db: sqlite3.Connection, name: str, token: int) -> bool:
    """Whether the lease was still held."""
    held = holds(db, name, token)
    db.execute("DELETE FROM lease WHERE name = ? AND token = ?", (name, token))
    return held


def lease_left(db: sqlite3.Connection, name: str) -> float:
    """Seconds until the lease expires; 0 when nobody holds it."""
    now = time.time()
    found = db.execute(
        f"SELECT expires FROM lease WHERE {_HELD}", {"name": name, "now": now}
    ).fetchone()
    return 0.0 if found is None else found[0] - now


def append(
    db: sqlite3.Connection, stream: str, payload: bytes, ttl: float | None, most: int
) -> int:
    """Add an event and drop the oldest past ``most``; its id."""
    now = time.time()
    sweep(db, now)
    last = db.execute("SELECT max(id) FROM event WHERE stream = ?", (stream,)).fetchone()[0]
    id_ = (last or 0) + 1
    db.execute("INSERT INTO event VALUES (?, ?, ?)", (stream, id_, payload))
    db.execute("DELETE FROM event WHERE stream = ? AND id <= ?", (stream, id_ - most))
    db.execute(
        "INSERT INTO stream VALUES (:name, :expires) "
        "ON CONFLICT (name) DO UPDATE SET expires = coalesce(:expires, expires)",
        {"name": stream, "expires": None if ttl is None else now + ttl},
    )
    return id_


def events(db: sqlite3.Connection, stream: str, after: int, limit: int) -> list[tuple[int, bytes]]:
    """Ids and payloads after an id; none once the stream has expired."""
    return db.execute(
        "SELECT id, payload FROM event WHERE stream = :name AND id > :after AND EXISTS "
        f"(SELECT 1 FROM stream WHERE name = :name AND {_ALIVE}) ORDER BY id LIMIT :limit",
        {"name": stream, "after": after, "limit": limit, "now": time.time()},
    ).fetchall()


def drop(db: sqlite3.Connection, stream: str) -> bool:
    """Whether the stream had events."""
    db.execute("DELETE FROM stream WHERE name = ?", (stream,))
    return bool(db.execute("DELETE FROM event WHERE stream = ?", (stream,)).rowcount)


def data_version(db: sqlite3.Connection) -> int:
    """A number that moves whenever another connection has written."""
    return db.execute("PRAGMA data_version").fetchone()[0]
