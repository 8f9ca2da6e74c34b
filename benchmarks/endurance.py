"""Runs under fire: ``python -m benchmarks.endurance --runs 50 --cancels 50``.

Begins solver runs one after another, and kills the worker or the server with SIGKILL at a random
moment of each; every run must end with the known result. Then cancels as many at random moments;
each must end within a second. Not a measurement of speed: it passes, or says what did not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.servers import free_port, running

SOURCE = """
def slow(x):
    value = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
    return lax.fori_loop(0, 1_000_000, lambda i, a: a * (1 - 1e-9), value)
"""
FINAL = ("done", "failed", "cancelled")
LONGEST_S = 120.0
CANCEL_S = 1.0


class Site:
    """One server over one data directory, started again whenever it was killed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: Any = None
        self.pid = 0
        self.start()

    def start(self) -> None:
        """A server on a new port; it takes over what the one before left."""
        port = free_port()
        options = ["--host", "127.0.0.1", "--port", str(port)]
        command = [sys.executable, "-m", "app.cli", "serve", *options]
        log = self._directory / "endurance.log"
        self._open = running(command, port, "/health/ready", log)
        self.pid = self._open.__enter__()
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)

    def kill_server(self) -> None:
        """SIGKILL, and another one on the same data."""
        os.kill(self.pid, signal.SIGKILL)
        self.stop()
        self.start()

    def kill_worker(self) -> None:
        """SIGKILL to the worker of the device."""
        workers = self.http.get("/health/ready").json()["pool"]["workers"]
        for each in workers:
            if "cpu" in each["post"] and each["pid"]:
                os.kill(each["pid"], signal.SIGKILL)

    def stop(self) -> None:
        """End the server."""
        self.http.close()
        self._open.__exit__(None, None, None)

    def begin(self, start: float) -> str:
        """A run of a second or two, whose solution is all ones."""
        body = {"function": SOURCE, "args": [[start, 1.0, start, 1.0]], "method": "bfgs"}
        answer = self.http.post("/v1/minimize", json=body, headers={"prefer": "respond-async"})
        return answer.raise_for_status().json()["run"]

    def ended(self, run_id: str) -> dict[str, Any]:
        """The run once it has ended."""
        end = time.monotonic() + LONGEST_S
        while True:
            run = self.http.get(f"/v1/runs/{run_id}").raise_for_status().json()
            if run["status"] in FINAL:
                return run
            if time.monotonic() > end:
                return {**run, "status": "never ended"}
            time.sleep(0.05)


def killed(site: Site, dice: random.Random, count: int) -> int:
    """How many of ``count`` runs did not end right."""
    wrong = 0
    for number in range(count):
        run_id = site.begin(dice.uniform(-1.5, -1.0))
        time.sleep(dice.uniform(0.0, 2.0))
        kill, name = dice.choice([(site.kill_worker, "worker"), (site.kill_server, "server")])
        kill()
        run = site.ended(run_id)
        solution = run.get("result", {}).get("solution", [])
        right = run["status"] == "done" and all(abs(x - 1) < 1e-5 for x in solution)
        wrong += not right
        print(f"{number + 1}/{count} {name} killed: {run['status']}", flush=True)
        if not right:
            print(run, flush=True)
    return wrong


def cancelled(site: Site, dice: random.Random, count: int) -> tuple[int, float]:
    """How many of ``count`` cancelled runs did not end as such in time, and the longest time."""
    wrong, longest = 0, 0.0
    for _ in range(count):
        run_id = site.begin(dice.uniform(-1.5, -1.0))
        time.sleep(dice.uniform(0.0, 1.0))
        sent = time.perf_counter()
        run = site.http.delete(f"/v1/runs/{run_id}").raise_for_status().json()
        took = time.perf_counter() - sent
        longest = max(longest, took)
        wrong += run["status"] not in FINAL or took > CANCEL_S
    return wrong, longest


def main() -> int:
    """Everything; the exit status says whether all ended right."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=50)
    options.add_argument("--cancels", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    dice = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as directory:
        site = Site(Path(directory))
        try:
            lost = killed(site, dice, asked.runs)
            late, longest = cancelled(site, dice, asked.cancels)
        finally:
            site.stop()
    print(f"{asked.runs - lost} of {asked.runs} killed runs ended right")
    print(f"{asked.cancels - late} of {asked.cancels} cancelled in time, {longest:.3f} s at most")
    return 1 if lost or late else 0


if __name__ == "__main__":
    sys.exit(main())
