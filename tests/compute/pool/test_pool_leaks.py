"""Nothing is left behind: descriptors, shared memory, processes, places in the queue."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from app.compute.image import ProgramImage, Resident
from app.compute.pool.local import LocalPool
from app.core.errors import ProblemError
from tests.compute.pool.conftest import (
    StartPool,
    compiled,
    descriptors,
    is_running,
    spec_of,
    wait_until,
)

UVLOOP = True
SIZES = (1, 100, 20_000, 300_000)
ROOT = Path(__file__).parents[3]


def shared_ranges() -> list[tuple[int, int]]:
    """The address ranges of shared memory in this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    spans = [line.split()[0].split("-") for line in lines if "memfd:gradserve" in line]
    return [(int(start, 16), int(end, 16)) for start, end in spans]


def children(pid: int) -> list[int]:
    """The process's children."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def one(pool: LocalPool, image: ProgramImage, size: int, chance: random.Random) -> str:
    """One request, cancelled after a while or not; what came of it."""
    x = np.full(size, chance.random())
    leaf = Resident(f"arr_{size}_{x[0]}", x) if chance.random() < 0.3 else x
    task = asyncio.create_task(pool.run(image, [leaf], deadline_s=20.0))
    if chance.random() < 0.4:
        await asyncio.sleep(chance.random() * 0.02)
        task.cancel()
    try:
        result = await task
    except asyncio.CancelledError:
        return "cancelled"
    except ProblemError as error:
        return error.slug
    np.testing.assert_allclose(result.leaves[0], np.sin(x) + size, rtol=1e-14)
    return "right"


async def storm(pool: LocalPool, images: dict[int, ProgramImage], count: int) -> dict[str, int]:
    chance = random.Random(count)
    outcomes: dict[str, int] = {}
    waiting = set()
    for number in range(count):
        size = chance.choice(SIZES)
        waiting.add(asyncio.create_task(one(pool, images[size], size, chance)))
        if number % 10 == 0:
            spec = spec_of(f"lambda x: x + {number}", (2,))
            waiting.add(asyncio.create_task(ask(pool, spec)))
        if number == count // 2:
            os.kill(pool.status()["workers"][0]["pid"], signal.SIGKILL)
        await asyncio.sleep(chance.random() * 0.01)
    for outcome in await asyncio.gather(*waiting):
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


async def ask(pool: LocalPool, spec: object) -> str:
    answer = await pool.ask("abstract_eval", {"spec": spec}, deadline_s=20.0)
    return "right" if answer["out"]["shape"] == [2] else "wrong"


async def settled(pool: LocalPool) -> None:
    """Wait until nothing is in flight and the spare is back."""
    while pool.status()["queue"] or not pool.status()["spare"] or not pool.status()["ready"]:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)


def test_storm_with_cancellations_leaves_nothing(
    runner: asyncio.Runner, start_pool: StartPool
) -> None:
    pool = start_pool(shared_bytes=32 << 20, array_bytes=8 << 20)

    async def scenario() -> dict[str, int]:
        images = {
            size: await compiled(pool, spec_of(f"lambda x: sin(x) + {size}.0", (size,)))
            for size in SIZES
        }
        await storm(pool, images, 40)
        await settled(pool)
        gc.collect()
        before = (descriptors(), len(shared_ranges()), len(children(pool.status()["zygote"])))
        outcomes = await storm(pool, images, 300)
        await settled(pool)
        gc.collect()
        after = (descriptors(), len(shared_ranges()), len(children(pool.status()["zygote"])))
        assert after == before
        assert pool.devices()[0]["memory"]["shared"] == 0
        assert pool.devices()[0]["load"] == 0
        result = await pool.run(images[300_000], [np.zeros(300_000)], deadline_s=20.0)
        address = result.leaves[0].ctypes.data
        assert any(start <= address < end for start, end in shared_ranges())
        return outcomes

    outcomes = runner.run(scenario())
    assert set(outcomes) == {"right", "cancelled"}
    assert outcomes["right"] > 100
    assert outcomes["cancelled"] > 20


ORPHAN = """
import asyncio, os, signal
from app.compute.pool.local import LocalPool
from app.compute.pool.settings import PoolSettings

async def main():
    pool = LocalPool(PoolSettings(engine="tests.compute.pool.pythonic:Pythonic"))
    await pool.start()
    status = pool.status()
    print(status["zygote"], *(worker["pid"] for worker in status["workers"]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_no_process_outlives_a_server_that_was_killed() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    lines = [line for line in ended.stdout.splitlines() if line and line[0].isdigit()]
    pids = [int(pid) for pid in lines[-1].split()]
    assert len(pids) == 3
    assert ended.returncode == -signal.SIGKILL
    assert wait_until(lambda: not any(is_running(pid) for pid in pids))
