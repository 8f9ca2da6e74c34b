"""The program cache: two levels, refusals, one making for many callers."""

from __future__ import annotations

import asyncio
import os
import pickle
import random

import pytest
from structlog.testing import capture_logs

from app.cache.opening import open_store
from app.cache.programs import KEYS, PROGRAMS, Entry, ProgramCache
from app.cache.signing import Signer
from app.cache.store import StoreLimits
from app.core.errors import RefusedSource

SIGNER = Signer(b"k" * 32)
META = {"out": [0], "cost": {"flops": 1.5}, "cpu_features": ["avx2", "fma"], "platform": "cpu"}
L1, L2 = "1" * 64, "2" * 64


class Explosive:
    """Fails the test when it is unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("An entry that did not verify was unpickled.",))


async def test_a_program_is_found_by_either_key(connect):
    blob = os.urandom(300_000)
    async with connect() as one, connect() as other:
        cache, replica = ProgramCache(one, SIGNER), ProgramCache(other, SIGNER)
        assert await cache.find(L1) is None
        assert await cache.find_l2(L2) is None
        assert await cache.put(L1, L2, META, blob)
        assert await replica.find(L1) == Entry(L2, META, blob)
        assert await replica.find_l2(L2) == Entry(L2, META, blob)
        assert await replica.link("3" * 64, L2)
        assert await cache.find("3" * 64) == Entry(L2, META, blob)
        assert cache.counters["miss"] == 1
        assert cache.counters["hit"] == 1
        assert replica.counters["load"] == 2
        assert replica.status()["store"]["state"] == "ok"


async def test_a_program_that_cannot_be_serialised_is_known(connect):
    async with connect() as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, META, None)
        assert await cache.find(L1) == Entry(L2, META, None)
        await cache.put(L1, L2, META, b"")
        assert await cache.find(L1) == Entry(L2, META, b"")


async def test_hosts_that_differ_do_not_overwrite_each_other(connect):
    async with connect() as store:
        old, new = (ProgramCache(store, SIGNER, variant) for variant in ("avx2", "avx512"))
        await old.put(L1, L2, META, b"old")
        assert await new.find(L1) is None
        await new.put(L1, "3" * 64, META, b"new")
        assert (await old.find(L1)).blob == b"old"
        assert (await new.find(L1)).blob == b"new"


async def test_a_program_for_another_cpu_is_a_miss(connect):
    def accept(meta) -> bool:
        return set(meta["cpu_features"]) <= {"sse2", "avx2"}

    async with connect() as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, META, b"blob")
        assert await cache.find(L1, accept) is None
        assert await cache.find_l2(L2, accept) is None
        assert cache.refusals() == {"host": 2}
        assert cache.counters["load"] == 0
        await cache.put(L1, L2, {**META, "cpu_features": ["avx2"]}, b"blob")
        assert (await cache.find(L1, accept)).blob == b"blob"


async def test_thousands_of_flipped_bits_never_give_another_value(connect):
    dice = random.Random(7)
    program = Entry(L2, META, os.urandom(2000))
    async with connect() as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, META, program.blob)
        whole = {ns: await store.get(ns, key) for ns, key in ((KEYS, L1), (PROGRAMS, L2))}
        with capture_logs() as logs:
            for n in range(1500):
                ns, key = ((KEYS, L1), (PROGRAMS, L2))[n % 2]
                damaged = bytearray(whole[ns])
                for _ in range(dice.choice((1, 1, 1, 8))):
                    damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
                await store.put(ns, key, bytes(damaged))
                found = await cache.find(L1)
                assert found is None or (found == program and bytes(damaged) == whole[ns])
                await store.put(ns, key, whole[ns])
        assert await cache.find(L1) == program
        assert cache.refusals().total() >= 1490
        assert len(logs) == cache.refusals().total()


async def test_forged_entries_are_never_unpickled(connect):
    bomb = pickle.dumps(Explosive())
    attacker = Signer(b"a" * 32)
    bound = f"{PROGRAMS}/{L2}"
    about = {"meta": META, "blob": True}
    right = SIGNER.seal(bound, about, b"right")
    forged = {
        "another secret": attacker.seal(bound, about, bomb),
        "bare pickle": bomb,
        "old signature, new blob": right[:-5] + bomb,
        "unknown version": b"\x7f" + right[1:],
        "no signature": b"\x01" + bytes(32) + right[33:],
        "half": right[: len(right) // 2],
        "nothing": b"",
    }
    async with connect() as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, META, b"right")
        for name, entry in forged.items():
            await store.put(PROGRAMS, L2, entry)
            assert await cache.find(L1) is None, name
        assert cache.refusals().total() == len(forged)
        await cache.put(L1, L2, META, b"right")
        assert (await cache.find(L1)).blob == b"right"


async def test_entries_do_not_verify_under_another_key_or_namespace(connect):
    async with connect() as store:
        cache = ProgramCache(store, SIGNER)
        await cache.put(L1, L2, META, b"one")
        await cache.put("4" * 64, "5" * 64, META, b"other")
        for ns, key, other in ((PROGRAMS, L2, "5" * 64), (KEYS, L1, "4" * 64)):
            one, another = await store.get(ns, key), await store.get(ns, other)
            await store.put(ns, key, another)
            await store.put(ns, other, one)
            assert await cache.find(L1) is None
            assert await cache.find("4" * 64) is None
            await store.put(ns, key, one)
            await store.put(ns, other, another)
        await store.put(KEYS, L1, await store.get(PROGRAMS, L2))
        assert await cache.find(L1) is None
        assert cache.refusals() == {"signature": 5}


async def test_a_program_too_large_to_keep_is_not_kept(connect):
    async with connect(StoreLimits({PROGRAMS: 1000})) as store:
        cache = ProgramCache(store, SIGNER)
        assert not await cache.put(L1, L2, META, bytes(2000))
        assert await cache.find(L1) is None
        assert cache.counters["put_failed"] == 1


async def test_ten_callers_of_two_replicas_make_once(connect):
    made = 0

    async with connect() as one, connect() as other:
        caches = [ProgramCache(one, SIGNER), ProgramCache(other, SIGNER)]

        def maker(cache: ProgramCache):
            async def make() -> Entry:
                nonlocal made
                made += 1
                await asyncio.sleep(0.2)
                await cache.put(L1, L2, META, b"blob")
                return Entry(L2, META, b"blob")

            return make

        calls = [cache.find_or_make(L1, maker(cache)) for cache in caches for _ in range(5)]
        results = await asyncio.gather(*calls)
        assert made == 1
        assert {entry.blob for entry, _ in results} == {b"blob"}
        assert [is_new for _, is_new in results].count(True) == 5


async def test_what_a_making_raises_reaches_every_caller(connect):
    made = 0

    async def make() -> Entry:
        nonlocal made
        made += 1
        await asyncio.sleep(0.05)
        raise RefusedSource("no", line=3)

    async with connect() as store:
        cache = ProgramCache(store, SIGNER)
        calls = [cache.find_or_make(L1, make) for _ in range(5)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert made == 1
        assert all(isinstance(result, RefusedSource) for result in results)
        with pytest.raises(RefusedSource):
            await cache.find_or_make(L1, make)
        assert made == 2


async def test_a_making_ends_with_its_last_caller(connect):
    ended = asyncio.Event()

    async def make() -> Entry:
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        raise AssertionError

    async def quick() -> Entry:
        return Entry(L2, META, b"blob")

    async with connect() as store, connect() as other:
        cache = ProgramCache(store, SIGNER)
        calls = [asyncio.create_task(cache.find_or_make(L1, make)) for _ in range(3)]
        await asyncio.sleep(0.1)
        for call in calls[:2]:
            call.cancel()
        await asyncio.sleep(0.05)
        assert not ended.is_set()
        calls[2].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        async with asyncio.timeout(2):
            await ended.wait()
            # Its lease was given back: another replica need not wait for it to expire.
            assert (await ProgramCache(other, SIGNER).find_or_make(L1, quick))[1]
        assert (await cache.find_or_make(L1, quick))[1]


async def test_without_a_store_one_process_still_makes_once(tmp_path):
    (tmp_path / "file").write_text("in the way of a directory")
    made = 0

    async def make() -> Entry:
        nonlocal made
        made += 1
        await asyncio.sleep(0.1)
        assert not await cache.put(L1, L2, META, b"blob")
        return Entry(L2, META, b"blob")

    for where in ("redis://127.0.0.1:1/0", tmp_path / "file" / "store.db"):
        made = 0
        store = open_store(where)
        cache = ProgramCache(store, SIGNER)
        results = await asyncio.gather(*(cache.find_or_make(L1, make) for _ in range(10)))
        assert made == 1
        assert {entry.blob for entry, _ in results} == {b"blob"}
        assert cache.status()["store"]["state"] == "degraded"
        assert cache.counters["store_down"] > 0
        await store.close()
