"""From a setting to a store: a Redis URL, or the path of a SQLite file."""

from __future__ import annotations

from pathlib import Path

from app.cache.redis.store import RedisStore
from app.cache.sqlite.store import SqliteStore
from app.cache.store import Store, StoreLimits

_SCHEMES = ("redis://", "rediss://", "unix://")


def open_store(where: str | Path, limits: StoreLimits | None = None) -> Store:
    """The store at a Redis URL or a file path. It connects at first use, so this never fails."""
    limits = limits or StoreLimits()
    if isinstance(where, str) and where.startswith(_SCHEMES):
        return RedisStore(where, limits)
    return SqliteStore(Path(where), limits)
