"""The first call of a program: compiled, against found in the store by a new server."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import bodies
from benchmarks.client import Connection, check, request
from benchmarks.rows import Findings, Row
from benchmarks.servers import gradserve

ROUNDS = 2

NETWORK = """
def loss(w, x):
    h = x
    for layer in range(6):
        h = jnp.tanh(h @ w[layer])
    return jnp.mean((h - x) ** 2)
"""

PENDULUMS = """
def energy(q):
    def step(state, _):
        q, p = state
        p = p - 0.01 * jnp.sin(q) - 0.01 * (q - jnp.roll(q, 1))
        return (q + 0.01 * p, p), jnp.sum(p**2)
    (q, p), kinetic = lax.scan(step, (q, jnp.zeros_like(q)), None, length=100)
    return jnp.sum(kinetic) + jnp.sum(1 - jnp.cos(q))
"""


@dataclass(frozen=True)
class First:
    """One first call: seconds seen by the client, and by phase in the server."""

    cache: str
    seconds: float
    phases: dict[str, float]


def _calls() -> dict[str, bytes]:
    grid = (bodies.point(6 * 64 * 64) / 8).reshape(6, 64, 64).tolist()
    rows = bodies.point(32 * 64).reshape(32, 64).tolist()
    programs = {
        "Rosenbrock gradient": ("grad", bodies.ROSENBROCK, [bodies.point(1000).tolist()]),
        "network gradient": ("grad", NETWORK, [grid, rows]),
        "pendulums Hessian": ("hessian", PENDULUMS, [bodies.point(16).tolist()]),
    }
    return {
        name: request(
            "POST", f"/v1/{verb}", json.dumps({"function": source, "args": args}).encode(),
            bodies.JSON,
        )
        for name, (verb, source, args) in programs.items()
    }  # fmt: skip


def measure(directory: Path) -> Findings:
    """Both rows about the store."""
    compiled: dict[str, list[First]] = {}
    stored: dict[str, list[First]] = {}
    for turn in range(ROUNDS):
        data = directory / f"cold{turn}"
        data.mkdir()
        for found, expected in ((compiled, "compiled"), (stored, "store")):
            with gradserve(data) as (port, _):
                for name, call in _calls().items():
                    found.setdefault(name, []).append(_first(port, call, expected))
    return Findings(_rows(compiled, stored), notes=_notes(compiled, stored))


def _first(port: int, call: bytes, expected: str) -> First:
    connection = Connection(port)
    start = time.perf_counter()
    response = check(connection.call(call))
    seconds = time.perf_counter() - start
    connection.close()
    cache = json.loads(response.body)["cache"]
    if cache != expected:
        raise RuntimeError(f"the first call said {cache}, not {expected}")
    return First(cache, seconds, phases(response.header("server-timing")))


def phases(header: str) -> dict[str, float]:
    """Seconds by phase from a Server-Timing header."""
    found = {}
    for part in filter(None, (part.strip() for part in header.split(","))):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        for parameter in parameters:
            if parameter.startswith("dur="):
                found[name] = float(parameter[4:].strip('"')) / 1e3
    return found


def _made(first: First) -> float:
    return sum(first.phases.get(name, 0.0) for name in ("trace", "lower", "compile", "load"))


def _rows(compiled: dict[str, list[First]], stored: dict[str, list[First]]) -> list[Row]:
    def ratios(cost: str) -> list[float]:
        pick = (lambda first: first.seconds) if cost == "first" else _made
        return [
            pick(b) / pick(a)
            for name in compiled
            for a, b in zip(compiled[name], stored[name], strict=True)
        ]

    def middle(found: dict[str, list[First]], made: bool) -> float:
        every = [first for firsts in found.values() for first in firsts]
        return statistics.median(_made(f) if made else f.seconds for f in every)

    return [
        Row("first result of a program found in the store, new process", "compiling it",
            statistics.median(ratios("first")), 0.25, 0.10, middle(stored, False),
            middle(compiled, False), note=f"worst of 3 programs {max(ratios('first')):.2f}"),
        Row("program callable from the store, new process", "trace, lower, compile and load",
            statistics.median(ratios("made")), 0.10, 0.04, middle(stored, True),
            middle(compiled, True), note=f"worst of 3 programs {max(ratios('made')):.2f}"),
    ]  # fmt: skip


def _notes(compiled: dict[str, list[First]], stored: dict[str, list[First]]) -> list[str]:
    return [
        f"{name}: compiled in {min(f.seconds for f in compiled[name]) * 1e3:.0f} ms, "
        f"from the store in {min(f.seconds for f in stored[name]) * 1e3:.0f} ms"
        for name in compiled
    ]
