"""A SQLite file that is damaged, missing, locked, of another version, or shared by processes."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.cache.opening import open_store
from app.cache.programs import ProgramCache
from app.cache.signing import Signer
from app.core.errors import Unavailable
from tests.serving import ROOT

SIGNER = Signer(b"k" * 32)
L1, L2 = "1" * 64, "2" * 64


@asynccontextmanager
async def opened(path: Path):
    store = open_store(path)
    try:
        yield store
    finally:
        await store.close()


async def filled(path: Path) -> None:
    async with opened(path) as store:
        for n in range(30):
            await store.put("arr", f"{n}", os.urandom(3000))


async def works(store) -> None:
    assert await store.put("arr", "new", b"value")
    assert await store.get("arr", "new") == b"value"
    lease = await store.acquire("job", 1)
    assert lease is not None
    assert await store.release(lease)
    assert await store.append("run", {"a": 1}) == 1


async def test_the_file_is_private_and_its_data_outlive_the_process(tmp_path):
    path = tmp_path / "data" / "store.db"
    async with opened(path) as store:
        await store.put("arr", "a", b"kept")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    async with opened(path) as store:
        assert await store.get("arr", "a") == b"kept"


@pytest.mark.parametrize("damage", ["garbage", "half", "zeros", "short"])
async def test_a_damaged_file_is_moved_aside(tmp_path, damage):
    path = tmp_path / "store.db"
    await filled(path)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "garbage": random.Random(1).randbytes(len(whole)),
            "half": whole[: len(whole) // 2 // 4096 * 4096 + 100],
            "zeros": bytes(len(whole)),
            "short": b"SQLite format 3\x00",
        }[damage]
    )
    with capture_logs() as logs:
        async with opened(path) as store:
            for n in range(30):
                await store.get("arr", f"{n}")
            await works(store)
            assert store.status()["state"] == "ok"
            assert store.status()["repairs"] == 1
    assert [line["event"] for line in logs] == ["store file was moved aside"]
    assert (tmp_path / "store.db.damaged").exists()


async def test_pages_damaged_at_random_never_give_a_wrong_program(tmp_path):
    path, dice = tmp_path / "store.db", random.Random(3)
    blob = os.urandom(20_000)
    for _ in range(40):
        async with opened(path) as store:
            cache = ProgramCache(store, SIGNER)
            for n in range(5):
                assert await cache.put(f"{n}" * 64, f"{n}" * 64, {"n": n}, blob)
        damaged = bytearray(path.read_bytes())
        for _ in range(dice.choice((1, 20, 400))):
            damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        async with opened(path) as store:
            cache = ProgramCache(store, SIGNER)
            for n in range(5):
                found = await cache.find(f"{n}" * 64)
                assert found is None or (found.blob, found.meta) == (blob, {"n": n})
                await cache.put(f"{n}" * 64, f"{n}" * 64, {"n": n}, blob)
                async with cache.flight(f"{n}"):
                    pass
        path.unlink(missing_ok=True)


async def test_damage_while_running_is_repaired(tmp_path):
    path = tmp_path / "store.db"
    await filled(path)
    async with opened(path) as store, opened(path) as other:
        await works(store)
        await other.get("arr", "1")
        with path.open("r+b") as file:
            file.seek(0)
            file.write(os.urandom(8192))
            file.truncate(8192)
        for suffix in ("-wal",):
            os.truncate(path.with_name(path.name + suffix), 0)
        for n in range(60):
            for one in (store, other):
                try:
                    await one.get("arr", f"{n}")
                    await one.put("arr", f"{n}", b"x")
                except Unavailable:
                    await asyncio.sleep(0.05)
        await store.put("arr", "shared", b"seen")
        assert await other.get("arr", "shared") == b"seen"
        assert store.status()["state"] == other.status()["state"] == "ok"


async def test_a_file_that_was_deleted_is_made_anew_for_all(tmp_path):
    path = tmp_path / "store.db"
    async with opened(path) as store, opened(path) as other:
        await works(store)
        await other.get("arr", "new")
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink()
        await store.put("arr", "again", b"1")
        assert await other.get("arr", "again") == b"1"


async def test_a_file_of_another_version_is_moved_aside(tmp_path):
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    async with opened(path) as store:
        await works(store)
        assert store.status()["repairs"] == 1


async def test_a_directory_that_cannot_be_made_degrades_and_recovers(tmp_path):
    (tmp_path / "data").write_text("a file in the way")
    async with opened(tmp_path / "data" / "store.db") as store:
        cache = ProgramCache(store, SIGNER)
        assert await cache.find(L1) is None
        assert not await cache.put(L1, L2, {}, b"blob")
        with pytest.raises(Unavailable):
            await store.get("arr", "a")
        assert store.status()["state"] == "degraded"
        (tmp_path / "data").unlink()
        async with asyncio.timeout(5):
            while store.status()["state"] != "ok":
                await asyncio.sleep(0.02)
        await works(store)


async def test_a_file_locked_by_another_costs_one_busy_timeout(tmp_path):
    path = tmp_path / "store.db"
    async with opened(path) as store:
        await works(store)
        rival = sqlite3.connect(path, isolation_level=None)
        rival.execute("BEGIN IMMEDIATE")
        start = time.perf_counter()
        reads = asyncio.create_task(store.get("arr", "new"))
        with pytest.raises(Unavailable):
            await store.put("arr", "a", b"x")
        assert await reads == b"value"  # readers do not wait for a writer
        assert time.perf_counter() - start < 4
        start = time.perf_counter()
        with pytest.raises(Unavailable):
            await store.put("arr", "a", b"x")
        assert time.perf_counter() - start < 0.1
        rival.execute("ROLLBACK")
        rival.close()
        async with asyncio.timeout(8):
            while store.status()["state"] != "ok":
                await asyncio.sleep(0.02)
        await store.put("arr", "a", b"x")


WRITER = """
import asyncio, sys, pathlib
from app.cache.opening import open_store
from app.cache.store import StoreLimits

async def main(path, name):
    store = open_store(pathlib.Path(path), StoreLimits({"arr": 60_000}))
    for n in range(150):
        await store.put("arr", f"{name}{n}", bytes(1000))
        await store.append("run", {"by": name, "n": n})
        lease = await store.acquire(f"job{n}", 30)
        if lease:
            await store.append("won", {"n": n, "by": name})
    assert store.status()["trips"] == 0
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_one_file(tmp_path):
    path = tmp_path / "store.db"
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=ROOT)
        for name in "abc"
    ]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    async with opened(path) as store:
        events = await store.read("run", limit=1000)
        assert [event.id for event in events] == list(range(1, 451))
        for name in "abc":
            seen = [event.fields["n"] for event in events if event.fields["by"] == name]
            assert seen == list(range(150))
        won = await store.read("won", limit=1000)
        assert sorted(event.fields["n"] for event in won) == list(range(150))
        usage = (await store.stats())["arr"]
        assert (usage.entries, usage.bytes) == (60, 60_000)


async def test_a_writer_killed_midway_leaves_no_half_value(tmp_path):
    path = tmp_path / "store.db"
    program = (
        "import asyncio, sys, pathlib\n"
        "from app.cache.opening import open_store\n"
        "async def main():\n"
        "    store, n = open_store(pathlib.Path(sys.argv[1])), 0\n"
        "    while True:\n"
        "        n += 1\n"
        "        await store.put('arr', 'k', bytes([n % 256]) * (20 << 20))\n"
        "        print(n, flush=True)\n"
        "asyncio.run(main())\n"
    )
    for extra_s in (0.01, 0.05):
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(path)], cwd=ROOT, stdout=subprocess.PIPE
        )
        process.stdout.readline()
        time.sleep(extra_s)
        process.kill()
        process.communicate()
        async with opened(path) as store:
            value = await store.get("arr", "k")
            assert value is not None
            assert len(value) == 20 << 20
            assert len(set(value)) == 1
            assert (await store.stats())["arr"].bytes == 20 << 20
