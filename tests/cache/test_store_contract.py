"""What every store must do: one suite for a real redis-server and a SQLite file on disk."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from app.cache.store import CHUNK_BYTES, INLINE_BYTES, Event, StoreLimits
from app.core.errors import TooLarge, Unavailable

BINARY = bytes(range(256)) * 3 + b"\r\n\x00"


async def test_values_come_back_whole(connect):
    async with connect() as store:
        assert await store.get("arr", "a") is None
        for value in (b"", b"\x00", b"\x01", BINARY):
            assert await store.put("arr", "a", value)
            assert await store.get("arr", "a") == value
        assert await store.get("fn", "a") is None
        assert await store.delete("arr", "a")
        assert not await store.delete("arr", "a")
        assert await store.get("arr", "a") is None


@pytest.mark.parametrize("size", [INLINE_BYTES, INLINE_BYTES + 1, 2 * CHUNK_BYTES, 20_000_001])
async def test_large_values_are_whole_and_counted(connect, size):
    value = os.urandom(size)
    async with connect() as one, connect() as other:
        assert await one.put("arr", "big", value)
        assert await other.get("arr", "big") == value
        usage = (await other.stats())["arr"]
        assert (usage.entries, usage.bytes) == (1, size)
        assert await one.put("arr", "big", b"small")
        assert (await one.stats())["arr"].bytes == 5
        assert await one.delete("arr", "big")
        assert (await one.stats())["arr"].bytes == 0


async def test_256_mib_pass_and_others_are_served_meanwhile(connect):
    value = os.urandom(1 << 20) * 256
    async with connect(StoreLimits({"arr": 1 << 30})) as store:
        await store.put("fn", "small", b"x")
        longest, ended = 0.0, asyncio.Event()

        async def watch() -> None:
            nonlocal longest
            while not ended.is_set():
                start = time.perf_counter()
                assert await store.get("fn", "small") == b"x"
                longest = max(longest, time.perf_counter() - start)
                await asyncio.sleep(0.01)

        watching = asyncio.create_task(watch())
        await store.put("arr", "big", value)
        found = await store.get("arr", "big")
        ended.set()
        await watching
        assert found == value
        assert longest < 1.5
        assert store.status()["trips"] == 0


async def test_keys_may_be_any_text(connect):
    keys = ["a:b", "v:x", "é", "with space", "line\nbreak", "x" * 300]
    async with connect() as store:
        for key in keys:
            await store.put("arr", key, key.encode())
        for key in keys:
            assert await store.get("arr", key) == key.encode()
        assert sorted((await store.scan("arr")).keys) == sorted(keys)


@pytest.mark.parametrize("name", ["", "A", "a:b", "a" * 33])
async def test_a_bad_namespace_is_a_mistake_of_ours(connect, name):
    async with connect() as store:
        with pytest.raises(ValueError, match="namespace"):
            await store.get(name, "k")


async def test_values_expire(connect):
    big = bytes(INLINE_BYTES + 1)
    async with connect() as store:
        await store.put("arr", "short", b"x", ttl=0.15)
        await store.put("arr", "big", big, ttl=0.15)
        await store.put("arr", "long", b"x", ttl=60)
        await store.put("arr", "touched", b"x", ttl=0.15)
        assert await store.get("arr", "short") == b"x"
        assert await store.touch("arr", "touched", ttl=60)
        await asyncio.sleep(0.25)
        assert await store.get("arr", "short") is None
        assert await store.get("arr", "big") is None
        assert not await store.touch("arr", "short", ttl=60)
        assert not await store.delete("arr", "short")
        assert (await store.scan("arr")).keys == ["long", "touched"]
        await store.put("arr", "next", b"yz")
        assert (await store.stats())["arr"].bytes == 4


async def test_a_put_without_ttl_ends_an_earlier_one(connect):
    big = os.urandom(INLINE_BYTES + 1)
    async with connect() as store:
        for value in (b"x", big):
            await store.put("arr", "a", value, ttl=0.1)
            await store.put("arr", "a", value)
            await asyncio.sleep(0.2)
            assert await store.get("arr", "a") == value


@pytest.mark.parametrize("size", [5, INLINE_BYTES + 5])
async def test_put_if_absent_lets_one_through(connect, size):
    async with connect() as one, connect() as other:
        values = [os.urandom(size) for _ in range(8)]
        puts = [
            (one, other)[index % 2].put_if_absent("fn", "k", value, ttl=30)
            for index, value in enumerate(values)
        ]
        stored = await asyncio.gather(*puts)
        assert stored.count(True) == 1
        assert await one.get("fn", "k") == values[stored.index(True)]
        assert await one.put_if_absent("fn", "short", b"1", ttl=0.05)
        await asyncio.sleep(0.1)
        assert await one.put_if_absent("fn", "short", b"2")


async def test_the_least_recently_used_leave_first(connect):
    async with connect(StoreLimits({"arr": 3000})) as store:
        for key in "abc":
            await store.put("arr", key, bytes(1000))
        await store.get("arr", "a")
        await store.put("arr", "d", bytes(1000))
        assert (await store.scan("arr")).keys == ["a", "c", "d"]
        await store.touch("arr", "c")
        await store.put("arr", "e", bytes(2000))
        assert (await store.scan("arr")).keys == ["c", "e"]
        usage = (await store.stats())["arr"]
        assert (usage.entries, usage.bytes, usage.limit) == (2, 3000, 3000)


async def test_limits_hold_under_many_writers(connect):
    limits = StoreLimits({"arr": 20_000, "fn": 5_000})
    async with connect(limits) as one, connect(limits) as other:
        await asyncio.gather(
            *(
                (one, other)[n % 2].put(("arr", "fn")[n % 3 == 0], f"{n % 40}", bytes(n * 37 % 900))
                for n in range(300)
            )
        )
        for ns, usage in (await one.stats()).items():
            keys = (await other.scan(ns, limit=1000)).keys
            sizes = [len(await other.get(ns, key) or b"") for key in keys]
            assert usage.bytes == sum(sizes) <= limits.of(ns)
            assert usage.entries == len(keys)


async def test_large_values_are_evicted_with_their_chunks(connect):
    limits = StoreLimits({"arr": 30 << 20})
    async with connect(limits) as store:
        for n in range(6):
            await store.put("arr", f"{n}", bytes(12 << 20))
        assert (await store.scan("arr")).keys == ["4", "5"]
        assert await store.get("arr", "5") == bytes(12 << 20)


async def test_a_value_larger_than_its_namespace_is_refused(connect):
    async with connect(StoreLimits(default=100)) as store:
        with pytest.raises(TooLarge, match="101 bytes"):
            await store.put("arr", "a", bytes(101))
        assert await store.put("arr", "a", bytes(100))


async def test_readers_never_see_half_a_replaced_value(connect):
    size = INLINE_BYTES + CHUNK_BYTES
    async with connect() as one, connect() as other:
        await one.put("arr", "k", b"0" * size)

        async def write() -> None:
            for n in range(6):
                await one.put("arr", "k", b"%d" % n * size)

        async def read() -> None:
            for _ in range(8):
                value = await other.get("arr", "k")
                assert value is None or (len(value) == size and len(set(value)) == 1)

        await asyncio.gather(write(), read(), read())
        assert await other.get("arr", "k") == b"5" * size


async def test_keys_are_scanned_in_pages(connect):
    keys = [f"run_{n:03}" for n in range(25)]
    async with connect() as store:
        assert (await store.scan("run")).keys == []
        for key in reversed(keys):
            await store.put("run", key, b"")
        for reverse in (False, True):
            seen, cursor = [], None
            while True:
                page = await store.scan("run", cursor, 10, reverse=reverse)
                seen += page.keys
                cursor = page.cursor
                if cursor is None:
                    break
            assert seen == sorted(keys, reverse=reverse)


async def test_a_lease_has_one_holder(connect):
    async with connect() as one, connect() as other:
        leases = await asyncio.gather(*((one, other)[n % 2].acquire("job", 30) for n in range(10)))
        held = [lease for lease in leases if lease is not None]
        assert len(held) == 1
        assert await other.renew(held[0])
        assert not await one.wait("job", 0.05)
        assert await one.release(held[0])
        assert not await one.release(held[0])
        assert not await one.renew(held[0])
        assert await one.wait("job", 0.05)


async def test_a_lease_expires_and_its_late_holder_is_fenced_off(connect):
    async with connect() as store:
        late = await store.acquire("run", 0.15)
        assert await store.put("run", "state", b"1", fence=late)
        await asyncio.sleep(0.1)
        assert await store.renew(late)
        await asyncio.sleep(0.1)
        assert await store.put("run", "state", b"2", fence=late)
        await asyncio.sleep(0.15)
        assert not await store.put("run", "state", b"late", fence=late)
        new = await store.acquire("run", 30)
        assert new.token > late.token
        assert await store.put("run", "state", b"3", fence=new)
        for value in (b"late", bytes(INLINE_BYTES + 1)):
            assert not await store.put("run", "state", value, fence=late)
        assert not await store.renew(late)
        assert not await store.release(late)
        assert await store.get("run", "state") == b"3"
        assert (await store.stats())["run"].bytes == 1


async def test_waiters_wake_soon_after_a_release(connect):
    async with connect() as one, connect() as other:
        delays = []
        for _ in range(10):
            lease = await one.acquire("job", 30)
            waiting = [asyncio.create_task(store.wait("job", 10)) for store in (one, other)]
            await asyncio.sleep(0.06)
            start = time.perf_counter()
            await one.release(lease)
            assert all(await asyncio.gather(*waiting))
            delays.append(time.perf_counter() - start)
        assert sorted(delays)[3] < 0.02, delays


async def test_waiters_wake_when_a_lease_expires(connect):
    async with connect() as one, connect() as other:
        await one.acquire("job", 0.3)
        start = time.perf_counter()
        assert await other.wait("job", 10)
        assert 0.2 < time.perf_counter() - start < 0.8


async def test_events_count_from_one_and_are_read_after_an_id(connect):
    async with connect() as one, connect() as other:
        assert await one.read("run_1") == []
        for n in range(1, 6):
            assert (
                await (one, other)[n % 2].append("run_1", {"step": n, "loss": 0.5, "b": b"\0"}) == n
            )
        await one.append("run_2", {"step": 0})
        events = await other.read("run_1", after=3)
        assert events == [Event(n, {"step": n, "loss": 0.5, "b": b"\0"}) for n in (4, 5)]
        assert [event.id for event in await one.read("run_1", limit=2)] == [1, 2]
        assert await one.read("run_1", after=99) == []
        assert await one.drop("run_1")
        assert not await other.drop("run_1")
        assert await other.read("run_1") == []


async def test_readers_wait_for_events_of_another_process(connect):
    async with connect() as one, connect() as other:
        start = time.perf_counter()
        assert await one.read("run", wait_s=0.1) == []
        assert time.perf_counter() - start >= 0.1
        delays = []
        for n in range(10):
            reading = asyncio.create_task(other.read("run", after=n, wait_s=10))
            await asyncio.sleep(0.06)
            start = time.perf_counter()
            await one.append("run", {"n": n})
            assert [event.fields for event in await reading] == [{"n": n}]
            delays.append(time.perf_counter() - start)
        assert sorted(delays)[3] < 0.02, delays


async def test_streams_are_trimmed_and_expire(connect):
    async with connect() as store:
        for _ in range(20):
            last = await store.append("run", {}, ttl=0.3, max_events=5)
        assert last == 20
        assert [event.id for event in await store.read("run")] == [16, 17, 18, 19, 20]
        await asyncio.sleep(0.4)
        assert await store.read("run") == []
        assert await store.append("run", {}) == 1
        assert [event.id for event in await store.read("run")] == [1]


async def test_200_readers_hear_every_event(connect):
    async with connect() as one, connect() as other:

        async def listen() -> list[int]:
            seen: list[int] = []
            while len(seen) < 20:
                events = await other.read("run", after=seen[-1] if seen else 0, wait_s=10)
                seen += [event.id for event in events]
            return seen

        listening = [asyncio.create_task(listen()) for _ in range(200)]
        for n in range(20):
            await one.append("run", {"n": n})
            await asyncio.sleep(0.01)
        async with asyncio.timeout(20):
            assert all(seen == list(range(1, 21)) for seen in await asyncio.gather(*listening))


async def test_cancelled_callers_leave_the_store_working(connect):
    async with connect() as store:
        await store.put("arr", "k", bytes(3 << 20))
        for n in range(40):
            task = asyncio.create_task(store.get("arr", "k"))
            reading = asyncio.create_task(store.read("run", wait_s=10))
            await asyncio.sleep(n * 0.0005)
            for one in (task, reading):
                one.cancel()
            await asyncio.gather(task, reading, return_exceptions=True)
        assert await store.get("arr", "k") == bytes(3 << 20)
        assert store.status()["state"] == "ok"


async def test_a_closed_store_is_unavailable(connect):
    async with connect() as store:
        await store.ping()
        waiting = asyncio.create_task(store.read("run", wait_s=30))
        await asyncio.sleep(0.05)
        await store.close()
        with pytest.raises(Unavailable):
            await waiting
        with pytest.raises(Unavailable):
            await store.get("arr", "k")
        with pytest.raises(Unavailable):
            await store.ping()
