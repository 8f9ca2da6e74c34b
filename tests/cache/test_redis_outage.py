"""A Redis that is away, dies under load, hangs, comes back, or holds what we did not write."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from contextlib import asynccontextmanager, suppress

import pytest
from structlog.testing import capture_logs

from app.cache.opening import open_store
from app.cache.programs import PROGRAMS, ProgramCache
from app.cache.signing import Signer
from app.core.errors import ProblemError, Unavailable

SIGNER = Signer(b"k" * 32)
L1, L2 = "1" * 64, "2" * 64


@asynccontextmanager
async def opened(url: str):
    store = open_store(url)
    try:
        yield store
    finally:
        await store.close()


async def until(state: str, store, seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while store.status()["state"] != state:
            with suppress(Unavailable):
                await store.ping()
            await asyncio.sleep(0.01)


def ask(port: int, *words: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 2) as link:
        parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
        link.sendall((f"*{len(words)}\r\n" + "".join(parts)).encode())
        return link.recv(65536)


async def test_redis_is_down_at_start_and_comes_later(redis_server):
    redis_server.stop()
    async with opened(redis_server.url) as store:
        cache = ProgramCache(store, SIGNER)
        start = time.perf_counter()
        assert await cache.find(L1) is None
        assert not await cache.put(L1, L2, {}, b"blob")
        async with cache.flight(L1) as leader:
            assert leader
        assert time.perf_counter() - start < 1
        assert store.status()["state"] == "degraded"
        assert "127.0.0.1" in store.status()["reason"]
        with pytest.raises(Unavailable) as caught:
            await store.get("arr", "a")
        assert caught.value.retry_after > 0
        redis_server.start()
        await until("ok", store)
        assert await cache.put(L1, L2, {}, b"blob")
        assert (await cache.find(L1)).blob == b"blob"


async def test_redis_dies_and_returns_under_load(redis_server):
    async with opened(redis_server.url) as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, {}, b"blob" * 1000)
        ended = asyncio.Event()
        counts = {"hit": 0, "miss": 0}
        slowest = 0.0

        async def call(n: int) -> None:
            nonlocal slowest
            while not ended.is_set():
                start = time.perf_counter()
                found = await cache.find(L1)
                if n == 0:
                    await cache.put(L1, L2, {}, b"blob" * 1000)
                async with cache.flight(f"{n % 3}{time.time()}"):
                    pass
                slowest = max(slowest, time.perf_counter() - start)
                counts["miss" if found is None else "hit"] += 1
                assert found is None or found.blob == b"blob" * 1000
                await asyncio.sleep(0.001)

        calling = [asyncio.create_task(call(n)) for n in range(16)]
        with capture_logs() as logs:
            for _ in range(3):
                await asyncio.sleep(0.3)
                redis_server.stop(signal.SIGKILL)
                await until("degraded", store)
                await asyncio.sleep(0.3)
                redis_server.start()
                await until("ok", store)
                hits = counts["hit"]
                await asyncio.sleep(0.3)
                assert counts["hit"] > hits
        ended.set()
        await asyncio.gather(*calling)
        assert counts["miss"] > 0
        assert slowest < 2.5
        events = [line["event"] for line in logs]
        assert events.count("store is down") == events.count("store is back") == 3


async def test_a_redis_that_hangs_costs_one_timeout(redis_server):
    async with opened(redis_server.url) as store:
        await store.ping()
        process = redis_server.process
        os.kill(process.pid, signal.SIGSTOP)
        try:
            start = time.perf_counter()
            with pytest.raises(Unavailable):
                await store.get("arr", "a")
            assert time.perf_counter() - start < 3
            start = time.perf_counter()
            for _ in range(100):
                with pytest.raises(Unavailable):
                    await store.get("arr", "a")
            assert time.perf_counter() - start < 0.2
        finally:
            os.kill(process.pid, signal.SIGCONT)
        await until("ok", store, 8)
        assert await store.get("arr", "a") is None


async def test_a_restart_that_nobody_noticed_is_not_an_outage(redis_server):
    async with opened(redis_server.url) as store:
        await asyncio.gather(*(store.ping() for _ in range(8)))
        redis_server.stop()
        redis_server.start()
        await asyncio.sleep(0.05)
        for _ in range(8):
            assert await store.get("arr", "a") is None
        assert store.status()["trips"] == 0


async def test_readers_of_events_go_on_after_a_restart(redis_server):
    async with opened(redis_server.url) as store:
        reading = asyncio.create_task(store.read("run", wait_s=20))
        await asyncio.sleep(0.1)
        redis_server.stop()
        with pytest.raises(Unavailable):
            await reading
        redis_server.start()
        await until("ok", store)
        reading = asyncio.create_task(store.read("run", wait_s=20))
        await asyncio.sleep(0.1)
        await store.append("run", {"n": 1})
        assert [event.fields for event in await reading] == [{"n": 1}]


async def test_a_full_redis_refuses_writes_and_still_answers(redis_server):
    async with opened(redis_server.url) as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, {}, b"blob")
        ask(redis_server.port, "CONFIG", "SET", "maxmemory", "1")
        assert not await cache.put("3" * 64, "4" * 64, {}, b"blob")
        with pytest.raises(Unavailable):
            await store.put("arr", "big", bytes(20 << 20))
        assert (await cache.find(L1)).blob == b"blob"
        assert store.status()["state"] == "ok"
        ask(redis_server.port, "CONFIG", "SET", "maxmemory", "0")
        assert await cache.put("3" * 64, "4" * 64, {}, b"blob")


async def test_values_evicted_by_redis_itself_are_misses(redis_server):
    async with opened(redis_server.url) as store:
        await store.put("arr", "small", b"x")
        await store.put("arr", "big", bytes(20 << 20))
        prefix = "gradserve:ns:arr:"
        ask(redis_server.port, "DEL", f"{prefix}v:small")
        listed = ask(redis_server.port, "KEYS", f"{prefix}c:*").decode().split("\r\n")
        ask(redis_server.port, "DEL", next(line for line in listed if ":1" in line))
        for key in ("small", "big"):
            assert await store.get("arr", key) is None
            assert await store.put("arr", key, b"again")
            assert await store.get("arr", key) == b"again"
        assert (await store.stats())["arr"].bytes == 10


@pytest.mark.parametrize("kind", ["list", "chunks", "huge", "empty", "text"])
async def test_what_others_wrote_under_our_keys_is_a_miss(redis_server, kind):
    key = f"gradserve:ns:{PROGRAMS}:v:{L2}"
    wrong = {
        "chunks": "\x01abc 3 25165824",
        "huge": "\x01abc 99999999999 999999999999999",
        "empty": "",
        "text": "hello",
    }
    async with opened(redis_server.url) as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, {}, b"blob")
        ask(redis_server.port, "DEL", key)
        if kind == "list":
            ask(redis_server.port, "RPUSH", key, "a", "b")
        else:
            ask(redis_server.port, "SET", key, wrong[kind])
        assert await cache.find(L1) is None
        assert await cache.put(L1, L2, {}, b"blob")
        assert (await cache.find(L1)).blob == b"blob"
        assert store.status()["state"] == "ok"


async def test_flushed_data_frees_its_bytes(redis_server):
    async with opened(redis_server.url) as store:
        await store.put("arr", "a", bytes(1000))
        ask(redis_server.port, "FLUSHALL")
        ask(redis_server.port, "SCRIPT", "FLUSH")
        assert await store.stats() == {}
        await store.put("arr", "a", bytes(10))
        assert (await store.stats())["arr"].bytes == 10


async def test_a_password_is_asked_for_and_never_shown(redis_server):
    ask(redis_server.port, "CONFIG", "SET", "requirepass", "right")
    address = redis_server.url.removeprefix("redis://")
    async with opened(f"redis://:wrong-secret@{address}") as store:
        with pytest.raises(ProblemError) as caught:
            await store.ping()
        assert "wrong-secret" not in repr((store.status(), caught.value.to_problem()))
        assert store.status()["state"] == "degraded"
    async with opened(f"redis://:right@{address}") as store:
        await store.ping()


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$abc\r\n", b"*99\r\n", b":1\r\n" * 50, b""]
)
async def test_a_server_that_is_no_redis_is_an_outage(answer):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        with suppress(OSError):
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, opened(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}") as store:
        cache = ProgramCache(store, SIGNER)
        for _ in range(20):
            assert await cache.find(L1) is None
            assert not await cache.put(L1, L2, {}, b"blob")
            async with cache.flight(L1):
                pass
            await asyncio.sleep(0.02)
        with pytest.raises(Unavailable):
            await store.read("run", wait_s=1)
