"""Cached gradients at three sizes, against an empty route, the 40-line service and an echo."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import bodies
from benchmarks.client import Connection, check, crowd, request
from benchmarks.rows import Findings, Growth, Row, Turns, in_turn
from benchmarks.servers import ROOT, gradserve, peer

SIZES = (10, 10_000, 1_000_000)
SERVICE = "40 lines of FastAPI, pydantic and jax.jit"


def measure(directory: Path) -> Findings:
    """All rows about cached gradients, one and eight clients."""
    with ExitStack() as stack:
        ours, _ = stack.enter_context(gradserve(directory))
        service = stack.enter_context(peer("fastapi_service", directory))
        echo = stack.enter_context(peer("echo", directory))
        line = [Connection(port) for port in (ours, service, echo)]
        for connection in line:
            stack.callback(connection.close)
        small, small_rows = _small(*line)
        middle, middle_rows = _middle(*line)
        large, large_rows = _large(*line)
        resident = _resident(line[0])
        growths = _growths(small, middle, large)
        notes = _eight_clients(ours, service)
    return Findings([*small_rows, *middle_rows, *large_rows, resident], growths, notes)


def _small(ours: Connection, service: Connection, echo: Connection) -> tuple[Turns, list[Row]]:
    n = SIZES[0]
    call = bodies.json_call(n)
    program = bodies.verify(ours, call, n)["program"]
    for connection, prepared in (
        (ours, bodies.program_call(n, program)),
        (ours, bodies.msgpack_call(n)),
        (service, bodies.peer_call(n)),
    ):
        bodies.verify(connection, prepared, n)
    turns = in_turn(
        {
            "json": partial(ours.timed, call),
            "program": partial(ours.timed, bodies.program_call(n, program)),
            "msgpack": partial(ours.timed, bodies.msgpack_call(n)),
            "empty": partial(service.timed, request("GET", "/empty")),
            "service": partial(service.timed, bodies.peer_call(n)),
            "echo": partial(echo.timed, call),
        },
        rounds=15,
        calls=60,
    )
    own = turns.median("json")
    by_id = turns.ratio("program", "empty")
    return turns, [
        Row("cached gradient, n = 10, JSON", "an empty FastAPI route", turns.ratio("json", "empty"),
            1.0, 0.7, own, turns.median("empty"), note=f"by program id: {by_id:.2f}"),
        Row("cached gradient, n = 10, JSON", SERVICE, turns.ratio("json", "service"),
            0.6, 0.4, own, turns.median("service"),
            note=f"by program id: {turns.ratio('program', 'service'):.2f}"),
    ]  # fmt: skip


def _middle(ours: Connection, service: Connection, echo: Connection) -> tuple[Turns, list[Row]]:
    n = SIZES[1]
    for connection, prepared in (
        (ours, bodies.msgpack_call(n)),
        (ours, bodies.json_call(n)),
        (service, bodies.peer_call(n)),
    ):
        bodies.verify(connection, prepared, n)
    turns = in_turn(
        {
            "msgpack": partial(ours.timed, bodies.msgpack_call(n)),
            "json": partial(ours.timed, bodies.json_call(n)),
            "service": partial(service.timed, bodies.peer_call(n)),
            "echo": partial(echo.timed, bodies.msgpack_call(n)),
        },
        rounds=9,
        calls={"msgpack": 60, "json": 10, "service": 10, "echo": 60},
    )
    return turns, [
        Row("cached gradient, 10^4 float64, msgpack", f"{SERVICE}, JSON",
            turns.ratio("msgpack", "service"), 1 / 30, 1 / 60, turns.median("msgpack"),
            turns.median("service"), note=f"JSON both: {turns.ratio('json', 'service'):.2f}"),
    ]  # fmt: skip


def _large(ours: Connection, service: Connection, echo: Connection) -> tuple[Turns, list[Row]]:
    n = SIZES[2]
    packed, text, theirs = bodies.msgpack_call(n), bodies.json_call(n), bodies.peer_call(n)
    for connection, prepared in ((ours, packed), (ours, text), (service, theirs)):
        bodies.verify(connection, prepared, n)
    turns = in_turn(
        {
            "msgpack": partial(ours.timed, packed),
            "echo": partial(echo.timed, packed),
            "json": partial(ours.timed, text),
            "service": partial(service.timed, theirs),
        },
        rounds=7,
        calls={"msgpack": 9, "echo": 9, "json": 1, "service": 1},
    )
    return turns, [
        Row("cached gradient, 10^6 float64, msgpack", "a bare ASGI echo of the same bytes",
            turns.ratio("msgpack", "echo"), 2.5, 1.9, turns.median("msgpack"),
            turns.median("echo"), note=f"JSON both, against {SERVICE}: "
            f"{turns.ratio('json', 'service'):.2f}"),
    ]  # fmt: skip


def _growths(small: Turns, middle: Turns, large: Turns) -> list[Growth]:
    turns = dict(zip(SIZES, (small, middle, large), strict=True))
    names = {
        "gradient, JSON": "json",
        "gradient, msgpack": "msgpack",
        "gradient by the 40-line service, JSON": "service",
        "echo of the same bytes": "echo",
    }
    return [Growth(w, {n: t.median(key) for n, t in turns.items()}) for w, key in names.items()]


def _resident(ours: Connection) -> Row:
    n, calls = SIZES[2], 9
    x = np.linspace(0.0, 1.0, n)
    upload = request("POST", "/v1/arrays", bodies.pack(bodies.dense(x)), bodies.MSGPACK)
    reference = check(ours.call(upload)).header("location").rpartition("/")[2]
    body = {"function": "lambda x: jnp.sum(x * x)", "args": [{"ref": reference}]}
    call = request("POST", "/v1/evaluate", json.dumps(body).encode(), bodies.JSON)
    result = json.loads(check(ours.call(call)).body)["result"]
    np.testing.assert_allclose(result, float(x @ x), rtol=1e-12)
    with _in_process() as theirs:
        turns = in_turn(
            {
                "ours": lambda: statistics.median(ours.timed(call) for _ in range(calls)),
                "theirs": lambda: theirs(n, calls),
            },
            rounds=9,
            calls=1,
        )
    return Row("10^6 float64 by reference, scalar out", "a jitted call in process",
               turns.ratio("ours", "theirs"), 1.5, 1.1, turns.median("ours"),
               turns.median("theirs"))  # fmt: skip


@contextmanager
def _in_process() -> Iterator[Callable[[int, int], float]]:
    command = [sys.executable, "-m", "benchmarks.peers.in_process"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        replies = process.stdout

        def ask(n: int, calls: int) -> float:
            print(n, calls, file=process.stdin, flush=True)
            return float(replies.readline())

        yield ask
        process.stdin.close()


def _eight_clients(ours: int, service: int) -> list[str]:
    """Calls a second with eight clients, in turn; more is better."""
    plan = [
        ("n = 10, JSON", bodies.json_call(10), bodies.peer_call(10), 800),
        ("n = 10^4, msgpack", bodies.msgpack_call(10_000), bodies.peer_call(10_000), 160),
        ("n = 10^6, msgpack", bodies.msgpack_call(1_000_000), bodies.peer_call(1_000_000), 8),
    ]
    notes = []
    for name, mine, theirs, calls in plan:
        rates: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(1 if calls == 8 else 3):
            for who, port, call in (("ours", ours, mine), ("theirs", service, theirs)):
                count = calls * 3 if calls == 8 and who == "ours" else calls
                _, whole = crowd(port, call, 8, count)
                rates[who].append(count / whole)
        mean = {who: statistics.median(values) for who, values in rates.items()}
        notes.append(
            f"eight clients, {name}: {mean['ours']:,.0f} calls/s, "
            f"{mean['ours'] / mean['theirs']:.1f} times the 40-line service's "
            f"{mean['theirs']:,.1f} (JSON)"
        )
    return notes
