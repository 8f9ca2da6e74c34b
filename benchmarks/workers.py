"""What a worker costs: started from the zygote, and killed in the middle of a run."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import bodies
from benchmarks.client import Connection, check, request
from benchmarks.rows import Findings, Row
from benchmarks.servers import cpu_seconds, descendants, gradserve

KILLS = 5
STEPS = 4_000_000


def measure(directory: Path) -> Findings:
    """The answer after kill -9; the median over a few kills."""
    with gradserve(directory) as (port, pid):
        connection = Connection(port)
        late = [_killed(connection, pid, number) for number in range(KILLS)]
        connection.close()
    seconds = statistics.median(late)
    row = Row(
        "answer after kill -9 of the worker in the middle of a run",
        "the run's own length, taken off",
        seconds,
        must=0.100,
        stretch=0.020,
        ours_s=seconds,
        unit="s",
        note=f"worst of {KILLS}: {max(late) * 1e3:.0f} ms",
    )
    return Findings([row])


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


def fresh_start() -> float:
    """Seconds of a new Python that imports JAX and runs a first jitted call."""
    code = "import jax; jax.jit(lambda x: x + 1.0)(1.0).block_until_ready()"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start
