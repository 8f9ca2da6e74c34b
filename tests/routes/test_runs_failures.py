"""Runs outlive those who work on them: workers and servers are killed, replicas cancel."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.following import Follower, loop
from tests.serving import RedisProcess, ServerProcess

QUICK_LEASE = {"GRADSERVE_RUN_LEASE_S": "1.5"}
STEPS = 6_000_000
LONG = loop(STEPS)
"""A run of a second or so."""


def workers(here: Follower) -> list[int]:
    pool = here.http.get("/health/ready").json()["pool"]
    return [each["pid"] for each in pool["workers"] if "cpu" in each["post"] and each["pid"]]


def kill_server(server: ServerProcess) -> None:
    """SIGKILL to the server alone: its workers notice by themselves."""
    os.kill(server.pid, signal.SIGKILL)
    assert server.process is not None
    server.process.wait(10)


def descendants(pid: int) -> list[int]:
    """The processes that a process began, and those that they began."""
    family = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            family += [child, *descendants(child)]
    return family


@pytest.fixture(scope="module")
def wanted() -> float:
    """What ``LONG`` comes to: a' = 1e-9 sin(a) has tan(a/2) = tan(1/2) exp(1e-9 n) for solution."""
    return 2 * math.atan(math.tan(0.5) * math.exp(1e-9 * STEPS))


def test_a_killed_worker_is_no_more_than_a_delay(start_server: StartServer, wanted: float) -> None:
    with Follower(start_server().url) as here:
        run_id = here.begin("evaluate", LONG)
        here.phase(run_id, "executing")
        time.sleep(0.2)
        (pid,) = workers(here)
        os.kill(pid, signal.SIGKILL)
        run = here.wait(run_id)
        assert run["status"] == "done"
        assert run["result"] == pytest.approx(wanted, rel=1e-9)


def test_a_killed_server_loses_nothing(
    start_server: StartServer, tmp_path: Path, wanted: float
) -> None:
    data = tmp_path / "data"
    server = start_server(QUICK_LEASE, data=data)
    with Follower(server.url) as here:
        done = here.wait(here.begin("evaluate", loop(10)))
        running = here.begin("evaluate", LONG)
        here.phase(running, "executing")
        queued = [here.begin("evaluate", loop(1000, x)) for x in (0.0, 0.25)]
        family = descendants(server.pid)
        kill_server(server)
        until = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in family) and time.monotonic() < until:
            time.sleep(0.05)
        assert not [pid for pid in family if Path(f"/proc/{pid}").exists()]
    with Follower(start_server(QUICK_LEASE, data=data).url) as again:
        assert again.get(done["run"]) == done
        run = again.wait(running)
        assert run["result"] == pytest.approx(wanted, rel=1e-9)
        events = list(again.events(running))
        assert [event.id for event in events] == list(range(1, len(events) + 1))
        assert events[-1].data["status"] == "done"
        results = [again.wait(run_id)["result"] for run_id in queued]
        assert results == pytest.approx([0.0, 0.25], abs=1e-6)


def test_a_drained_server_gives_its_runs_to_the_next(
    start_server: StartServer, tmp_path: Path, wanted: float
) -> None:
    data = tmp_path / "data"
    server = start_server(data=data)
    with Follower(server.url) as here:
        running = here.begin("evaluate", LONG)
        here.phase(running, "executing")
        listening = here.events(running)
        assert next(listening).data["status"] == "queued"
        begun = time.perf_counter()
        server.stop()
        assert time.perf_counter() - begun < 10
        assert list(listening)[-1].kind in ("progress", "status")
    with Follower(start_server(data=data).url) as again:
        run = again.wait(running)
        assert run["result"] == pytest.approx(wanted, rel=1e-9)


def test_replicas_share_runs(
    start_server: StartServer, redis_server: RedisProcess, wanted: float
) -> None:
    shared = {
        **QUICK_LEASE,
        "GRADSERVE_REDIS_URL": redis_server.url,
        "GRADSERVE_SIGNING_KEY": "a key that both replicas know",
    }
    one, two = start_server(shared, wait=False), start_server(shared)
    one.wait_ready()
    with Follower(one.url) as here, Follower(two.url) as there:
        done = here.wait(here.begin("evaluate", loop(10)))
        assert there.get(done["run"]) == done
        endless = [here.begin("evaluate", loop(1_000_000_000, x)) for x in (0.1, 0.2, 0.3)]
        there.phase(endless[0], "executing")
        assert there.get(endless[2])["status"] == "queued"
        for run_id in endless[::-1]:
            run, seconds = there.cancel(run_id)
            assert run["status"] == "cancelled"
            assert seconds < 1
            assert list(here.events(run_id))[-1].data["status"] == "cancelled"
        key = {"idempotency-key": "of both"}
        taken = here.begin("evaluate", LONG, **key)
        assert there.begin("evaluate", LONG, **key) == taken
        there.phase(taken, "executing")
        kill_server(one)
        assert there.wait(taken)["result"] == pytest.approx(wanted, rel=1e-9)
