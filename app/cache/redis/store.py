"""The store on Redis: shared by every process and host that is given the same URL.

Give Redis ``maxmemory-policy noeviction`` (its default) or a ``volatile`` one: each namespace keeps
itself within its own limit. Should Redis evict all the same, what it evicts is a miss.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack

from app.cache.redis import scripts
from app.cache.redis.link import RedisLink
from app.cache.store import (
    CHUNK_BYTES,
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

PREFIX = "gradserve:"
_STAGED_MS = 600_000
_INLINE, _CHUNKED = b"\x00", b"\x01"


class RedisStore(WaitingStore):
    """``Store`` on ``redis.asyncio``; what each key holds is told in ``scripts``."""

    def __init__(self, url: str, limits: StoreLimits) -> None:
        super().__init__()
        self._limits = limits
        self._channel = f"{PREFIX}wake"
        self._link = RedisLink(url, self._channel, self._waiters)

    async def get(self, ns: str, key: str) -> bytes | None:
        for _ in range(2):  # once more when the value was replaced between its chunks
            head = await self._head(ns, key)
            if head is None or head[:1] == _INLINE:
                return None if head is None else head[1:]
            value = await self._gather(ns, head)
            if value is not None:
                return value
        return None

    async def _head(self, ns: str, key: str) -> bytes | None:
        prefix = _prefix(ns)
        async with self._link.guard() as client:
            pipeline = client.pipeline(transaction=False)
            pipeline.get(f"{prefix}v:{key}")
            pipeline.zadd(f"{prefix}lru", {key: time.time_ns() // 1000}, xx=True, gt=True)
            head, _ = await pipeline.execute(raise_on_error=False)
            if isinstance(head, Exception):
                raise head
        # Whether its use could be noted does not matter: a full Redis refuses that.
        return head if isinstance(head, bytes) else None

    async def _gather(self, ns: str, head: bytes) -> bytes | None:
        try:
            gen, count, size = head[1:].decode("ascii").split(" ")
            pieces, length = int(count), int(size)
        except ValueError:
            return None
        if length > self._limits.of(ns) or pieces > length // CHUNK_BYTES + 1:
            return None
        parts: list[bytes] = []
        for index in range(pieces):
            async with self._link.guard() as client:
                part = await client.get(f"{_prefix(ns)}c:{gen}:{index}")
            if part is None:
                return None
            parts.append(part)
        value = await asyncio.to_thread(b"".join, parts)
        return value if len(value) == length else None

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
        self._limits.check(ns, len(value))
        prefix, gen, chunks = _prefix(ns), secrets.token_hex(8), chunks_of(value)
        names = [f"{prefix}c:{gen}:{index}" for index in range(len(chunks))]
        for name, chunk in zip(names, chunks, strict=True):
            async with self._link.guard() as client:
                await client.set(name, chunk, px=_STAGED_MS)
        head = _INLINE + value
        if chunks:
            head = _CHUNKED + f"{gen} {len(chunks)} {len(value)}".encode("ascii")
        lease, holder = ("", "") if fence is None else (_lease_key(fence.name), _holder(fence))
        stored = await self._link.script(
            scripts.PUT,
            [prefix, f"{PREFIX}namespaces", lease],
            [
                *(ns, key, head, len(value), gen, len(chunks), _ms(ttl)),
                *(self._limits.of(ns), int(only_absent), holder),
            ],
        )
        if not stored and names:
            async with self._link.guard() as client:
                await client.unlink(*names)
        return bool(stored)

    async def delete(self, ns: str, key: str) -> bool:
        return bool(await self._link.script(scripts.DELETE, [_prefix(ns)], [key]))

    async def touch(self, ns: str, key: str, *, ttl: float | None = None) -> bool:
        return bool(await self._link.script(scripts.TOUCH, [_prefix(ns)], [key, _ms(ttl)]))

    async def scan(
        self, ns: str, cursor: str | None = None, limit: int = 100, *, reverse: bool = False
    ) -> Page:
        args: Sequence[Any] = [cursor or "", limit, int(reverse)]
        names, alive = await self._link.script(scripts.SCAN, [_prefix(ns)], args)
        keys = [name.decode() for name in names]
        living = [key for key, lives in zip(keys, alive, strict=True) if lives]
        return Page(living, keys[-1] if len(keys) == limit else None)

    async def acquire(self, name: str, ttl: float) -> Lease | None:
        owner = secrets.token_hex(16)
        keys = [_lease_key(name), f"{PREFIX}token"]
        token = await self._link.script(scripts.ACQUIRE, keys, [owner, _ms(ttl)])
        return Lease(name, owner, int(token), ttl) if token else None

    async def renew(self, lease: Lease) -> bool:
        args = [_holder(lease), _ms(lease.ttl)]
        return bool(await self._link.script(scripts.RENEW, [_lease_key(lease.name)], args))

    async def release(self, lease: Lease) -> bool:
        keys = [_lease_key(lease.name), self._channel]
        args = [_holder(lease), lease_name(lease.name)]
        return bool(await self._link.script(scripts.RELEASE, keys, args))

    async def _lease_left(self, name: str) -> float:
        async with self._link.guard() as client:
            left_ms = await client.pttl(_lease_key(name))
        return max(left_ms, 0) / 1000

    async def append(
        self,
        stream: str,
        fields: Mapping[str, Any],
        *,
        ttl: float | None = None,
        max_events: int = MAX_EVENTS,
    ) -> int:
        keys = [_stream_key(stream), self._channel]
        args = [msgpack.Packer().pack(dict(fields)), max_events, _ms(ttl), stream_name(stream)]
        return int(await self._link.script(scripts.APPEND, keys, args))

    async def _events(self, stream: str, after: int, limit: int) -> list[Event]:
        async with self._link.guard() as client:
            found = await client.xrange(_stream_key(stream), min=f"{after + 1}-0", count=limit)
        return [
            Event(int(id_.split(b"-")[0]), msgpack.unpackb(entry[b"d"])) for id_, entry in found
        ]

    async def drop(self, stream: str) -> bool:
        async with self._link.guard() as client:
            return bool(await client.unlink(_stream_key(stream)))

    def _expect_changes(self) -> float:
        return 0.5 if self._link.listen() else 0.02

    async def stats(self) -> dict[str, Usage]:
        async with self._link.guard() as client:
            namespaces = sorted(ns.decode() for ns in await client.smembers(f"{PREFIX}namespaces"))
        usage: dict[str, Usage] = {}
        for ns in namespaces:
            entries, size = await self._link.script(scripts.USAGE, [_prefix(ns)], [])
            usage[ns] = Usage(entries, size, self._limits.of(ns))
        return usage

    async def ping(self) -> None:
        async with self._link.guard() as client:
            await client.ping()

    def status(self) -> dict[str, Any]:
        return self._link.breaker.status()

    async def close(self) -> None:
        await self._link.close()


def _prefix(ns: str) -> str:
    return f"{PREFIX}ns:{check_namespace(ns)}:"


def _lease_key(name: str) -> str:
    return f"{PREFIX}lease:{name}"


def _stream_key(stream: str) -> str:
    return f"{PREFIX}stream:{stream}"


def _holder(lease: Lease) -> str:
    return f"{lease.owner}:{lease.token}"


def _ms(ttl: float | None) -> int:
    return 0 if ttl is None else max(1, round(ttl * 1000))
