"""Servers that share a store, servers that restart, and stores and workers that die under load."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serving import RedisProcess, ServerProcess

Start = Callable[..., ServerProcess]
KEY = "a secret that both replicas know"
BODY = {"function": "lambda x: x**2 + sin(x)", "args": [3.0]}
RIGHT = 5.010007503399555
SLOW = "def f(x):\n    return lax.fori_loop(0, {n}, lambda i, c: jnp.sin(c) + 1e-9 * i, x)"


def grad(server: ServerProcess, body: dict[str, Any] | None = None) -> httpx.Response:
    return httpx.post(server.url + "/v1/grad", json=body or BODY, timeout=60)


def counted(server: ServerProcess, event: str) -> float:
    """The value of one cache counter in the metrics."""
    for line in httpx.get(server.url + "/metrics").text.splitlines():
        if line.startswith(f'gradserve_cache_total{{event="{event}"}}'):
            return float(line.split()[-1])
    raise AssertionError(f"no counter {event}")


def shared(redis: RedisProcess) -> dict[str, str]:
    return {"GRADSERVE_REDIS_URL": redis.url, "GRADSERVE_SIGNING_KEY": KEY}


def test_memory_then_store_after_a_restart(start_server: Start, tmp_path: Path) -> None:
    data = tmp_path / "data"
    first = start_server(data=data)
    assert [grad(first).json()["cache"] for _ in range(2)] == ["compiled", "memory"]
    first.stop()
    second = start_server(data=data)
    answer = grad(second).json()
    assert (answer["result"], answer["cache"]) == (RIGHT, "store")


def test_a_second_replica_loads_what_the_first_compiled(
    start_server: Start, redis_server: RedisProcess
) -> None:
    first, second = (start_server(shared(redis_server)) for _ in range(2))
    assert grad(first).json()["cache"] == "compiled"
    answer = grad(second).json()
    assert (answer["result"], answer["cache"]) == (RIGHT, "store")
    assert counted(second, "put") == 0


def test_ten_first_calls_at_once_compile_once(
    start_server: Start, redis_server: RedisProcess
) -> None:
    replicas = [start_server(shared(redis_server)) for _ in range(2)]
    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(lambda place: grad(replicas[place % 2]), range(10)))
    assert [answer.json()["result"] for answer in answers] == [RIGHT] * 10
    assert sum(counted(replica, "put") for replica in replicas) == 1


def test_replicas_with_other_secrets_trust_nothing(
    start_server: Start, redis_server: RedisProcess
) -> None:
    first = start_server(shared(redis_server))
    other = start_server({**shared(redis_server), "GRADSERVE_SIGNING_KEY": "another secret, long"})
    assert grad(first).json()["cache"] == "compiled"
    assert grad(other).json() | {"missed": 0} == grad(first).json() | {
        "cache": "compiled",
        "missed": 0,
    }


def test_redis_down_at_start_and_back_later(
    start_server: Start, redis_server: RedisProcess
) -> None:
    redis_server.stop()
    server = start_server(shared(redis_server))
    assert grad(server).json()["result"] == RIGHT
    assert httpx.get(server.url + "/health/ready").json()["status"] == "degraded"
    redis_server.start()
    until(lambda: httpx.get(server.url + "/health/ready").json()["status"] == "ready", 15)
    other = start_server(shared(redis_server))
    body = {"function": "lambda x: x**3", "args": [2.0]}
    assert [grad(each, body).json()["cache"] for each in (server, other)] == ["compiled", "store"]


def test_redis_dies_and_returns_under_load(start_server: Start, redis_server: RedisProcess) -> None:
    server = start_server(shared(redis_server))
    stop, wrong = threading.Event(), []

    def call(offset: int) -> None:
        power = 2 + offset
        while not stop.is_set():
            power += 4
            answer = grad(server, {"function": f"lambda x: x**{power % 40 + 2}", "args": [1.0]})
            if answer.status_code != 200 or answer.json()["result"] != power % 40 + 2:
                wrong.append(answer.text)

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(call, offset) for offset in range(4)]
        for _ in range(2):
            time.sleep(1)
            redis_server.stop(signal.SIGKILL)
            time.sleep(1)
            redis_server.start()
        time.sleep(1)
        stop.set()
    for each in calls:
        each.result()
    assert wrong == []


@pytest.mark.parametrize("victim", ["device", "compile", "zygote"])
def test_a_process_killed_under_load_costs_nobody_an_answer(
    start_server: Start, victim: str
) -> None:
    server = start_server()
    stop, bad = threading.Event(), []

    def call(offset: int) -> None:
        power = offset
        while not stop.is_set():
            power += 2
            answer = grad(server, {"function": f"lambda x: x**{power % 24 + 2}", "args": [1.0]})
            retry = answer.status_code == 503 and "retry-after" in answer.headers
            if not retry and answer.json().get("result") != power % 24 + 2:
                bad.append(answer.text)

    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(call, offset) for offset in range(2)]
        for _ in range(3):
            time.sleep(0.7)
            os.kill(pid_of(server, victim), signal.SIGKILL)
        time.sleep(1.5)
        stop.set()
    for each in calls:
        each.result()
    assert bad == []
    until(lambda: grad(server).json().get("result") == RIGHT, 10)


def test_a_run_survives_its_worker(start_server: Start) -> None:
    server = start_server()
    body = {"function": SLOW.format(n=30_000_000), "args": [0.5]}
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(
            lambda: httpx.post(server.url + "/v1/evaluate", json=body, timeout=60)
        )
        time.sleep(1.0)
        os.kill(pid_of(server, "device"), signal.SIGKILL)
        answer = running.result()
    assert answer.status_code == 200
    assert 0 < answer.json()["result"] < 1


def pid_of(server: ServerProcess, victim: str) -> int:
    pool = httpx.get(server.url + "/health/ready").json()["pool"]
    if victim == "zygote":
        return pool["zygote"]
    wanted = "compile:" if victim == "compile" else "cpu:"
    workers = [worker for worker in pool["workers"] if worker["post"].startswith(wanted)]
    until(lambda: bool(workers), 5)
    return workers[0]["pid"]


def until(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.1)
