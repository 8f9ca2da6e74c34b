"""What a worker costs: started from the zygote, and killed in the middle of a run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from app.compute.image import ProgramImage
from app.compute.pool.local import LocalPool
from app.compute.pool.settings import PoolSettings
from app.compute.spec import ProgramSpec
from app.core import logging
from app.core.values import Aval
from benchmarks import bodies
from benchmarks.client import Connection, check, request
from benchmarks.rows import Findings, Row
from benchmarks.servers import cpu_seconds, descendants, gradserve

KILLS = 5
STARTS = 5
STEPS = 16_000_000


def measure(directory: Path) -> Findings:
    """Both rows about workers; each the median over a few tries."""
    return Findings([_start_row(), _kill_row(directory)])


def _start_row() -> Row:
    ours = statistics.median(asyncio.run(_forked_starts()))
    theirs = statistics.median(_fresh_start() for _ in range(3))
    return Row(
        "worker forked from the zygote, to its first result of a stored program",
        "a fresh import of jax, to the first result of a jitted function",
        ours / theirs,
        must=0.05,
        stretch=0.02,
        ours_s=ours,
        theirs_s=theirs,
    )


async def _forked_starts() -> list[float]:
    """Seconds from the end of a worker to the first result of the one forked in its place."""
    spec = ProgramSpec("lambda x: x + 1.0", None, "evaluate", {"args": [0]}, (Aval("float64", ()),))
    logging.configure("warning")
    pool = LocalPool(PoolSettings(devices=1, compile_workers=1, spare=False))
    await pool.start()
    try:
        lowering = await pool.lower(spec)
        blob = await pool.compile(lowering)
        image = ProgramImage(spec.key(), blob, lowering.meta, spec)
        found = []
        for _ in range(STARTS + 1):
            result = await pool.run(image, [np.asarray(2.0)], deadline_s=30.0)
            assert float(result.leaves[0]) == 3.0
            (pid,) = (w["pid"] for w in pool.status()["workers"] if "compil" not in w["post"])
            os.kill(pid, signal.SIGKILL)
            start = time.perf_counter()
            await pool.run(image, [np.asarray(2.0)], deadline_s=30.0)
            found.append(time.perf_counter() - start)
        return found[1:]
    finally:
        await pool.stop(1.0)


def _fresh_start() -> float:
    """Seconds of a new Python that imports JAX and runs a first jitted call."""
    code = "import jax; jax.jit(lambda x: x + 1.0)(1.0).block_until_ready()"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def _kill_row(directory: Path) -> Row:
    with gradserve(directory) as (port, pid):
        connection = Connection(port)
        late = [_killed(connection, pid, number) for number in range(KILLS)]
        connection.close()
    seconds = statistics.median(late)
    return Row(
        "answer after kill -9 of the worker in the middle of a run",
        "the run's own length, taken off",
        seconds,
        must=0.100,
        stretch=0.020,
        ours_s=seconds,
        unit="s",
        note=f"worst of {KILLS}: {max(late) * 1e3:.0f} ms",
    )


def _killed(connection: Connection, server: int, number: int) -> float:
    """Seconds that one kill added. Each kill has a program of its own: none gets a bad name."""
    source = f"lambda x: lax.fori_loop(0, {STEPS}, lambda i, y: sin(y) + {number}.5, x)"
    body = json.dumps({"function": source, "args": [1.0]}).encode()
    call = request("POST", "/v1/evaluate", body, bodies.JSON)
    right = json.loads(check(connection.call(call)).body)["result"]
    alone = statistics.median(connection.timed(call) for _ in range(3))
    workers = descendants(server)
    before = {pid: cpu_seconds(pid) for pid in workers}
    connection.begin(call)
    time.sleep(max(0.05, alone / 2))
    busiest = max(workers, key=lambda pid: cpu_seconds(pid) - before[pid])
    os.kill(busiest, signal.SIGKILL)
    start = time.perf_counter()
    while not connection.feed():
        pass
    seconds = time.perf_counter() - start
    got = json.loads(check(connection.answer()).body)["result"]
    if got != right:
        raise RuntimeError(f"after the kill the answer was {got}, not {right}")
    time.sleep(1.5)
    return max(0.0, seconds - alone)
