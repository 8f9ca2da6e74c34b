"""How long small calls wait while another client sends bodies of 10^6 numbers in JSON."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import bodies
from benchmarks.client import Connection
from benchmarks.rows import Findings, Row
from benchmarks.servers import ROOT, gradserve, peer

ROUNDS, ALONE_S, LOADED_S = 3, 2.0, 5.0


def measure(directory: Path) -> Findings:
    """The row for gradserve, and what the 40-line service does as a note."""
    with gradserve(directory) as (port, _):
        ours = _rounds(port, "ours", bodies.json_call(10))
    with peer("fastapi_service", directory) as port:
        theirs = _rounds(port, "service", bodies.peer_call(10))
    ratio = statistics.median(loaded / alone for alone, loaded in ours)
    row = Row(
        "p99 of a small call while 10^6-number JSON bodies arrive",
        "its p99 without them",
        ratio,
        must=5.0,
        stretch=2.0,
        ours_s=statistics.median(loaded for _, loaded in ours),
        theirs_s=statistics.median(alone for alone, _ in ours),
        note=f"the 40-line service: {statistics.median(b for _, b in theirs) * 1e3:.0f} ms",
    )
    return Findings([row])


def _rounds(port: int, whose: str, small: bytes) -> list[tuple[float, float]]:
    """p99 alone and p99 under load, of each round."""
    connection = Connection(port)
    for _ in range(300):
        connection.timed(small)
    found = []
    for _ in range(ROUNDS):
        alone = _p99(connection, small, ALONE_S)
        command = [sys.executable, "-m", "benchmarks.load", str(port), whose]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as load:
            assert load.stdin is not None
            assert load.stdout is not None
            load.stdout.readline()
            loaded = _p99(connection, small, LOADED_S)
            load.stdin.close()
            load.stdout.readline()
        found.append((alone, loaded))
    connection.close()
    return found


def _p99(connection: Connection, small: bytes, seconds: float) -> float:
    """The 99th percentile of calls made at 5 ms intervals, or back to back when they are slower."""
    end = time.monotonic() + seconds
    found = []
    while time.monotonic() < end:
        found.append(connection.timed(small))
        time.sleep(0.005)
    found.sort()
    return found[min(len(found) - 1, int(0.99 * len(found)))]
