"""Start and end the servers that are measured, all under the same uvicorn settings."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.client import Connection, request

ROOT = Path(__file__).parent.parent
START_S = 90.0
STOP_S = 20.0


def free_port() -> int:
    """A loopback port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(command: list[str], port: int, path: str, log: Path) -> Iterator[int]:
    """A server process, from the moment ``path`` answers 200 until the block ends; its pid."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GRADSERVE_", "XLA_"))}
    directory = {"GRADSERVE_DATA_DIR": str(log.parent)}
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=kept | directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        _wait(process, port, path, log)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            connection = Connection(port, 5.0)
            status = connection.call(request("GET", path)).status
            connection.close()
        except OSError:
            status = 0
        if status == 200:
            return
        time.sleep(0.02)
    raise RuntimeError(f"{log.name}: the server did not come up\n{log.read_text()[-4000:]}")


@contextmanager
def gradserve(directory: Path) -> Iterator[tuple[int, int]]:
    """A gradserve that keeps its data in ``directory``: port and pid."""
    port = free_port()
    command = [sys.executable, "-m", "app.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
    with running(command, port, "/health/ready", directory / "gradserve.log") as pid:
        yield port, pid


@contextmanager
def peer(module: str, directory: Path, path: str = "/empty") -> Iterator[int]:
    """One of benchmarks/peers under uvicorn, as gradserve runs it: port."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", f"benchmarks.peers.{module}:app"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    command += ["--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    command += ["--timeout-keep-alive", "75"]
    with running(command, port, path, directory / f"{module}.log"):
        yield port


def descendants(pid: int) -> list[int]:
    """All processes below one, by /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, open_ = [], [pid]
    while open_:
        children = parents.get(open_.pop(), [])
        found += children
        open_ += children
    return found


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used so far; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
