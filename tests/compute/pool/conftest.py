"""Pools of real processes, one event loop a module, and images made by hand."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from app.compute.image import ProgramImage
from app.compute.pool.local import LocalPool
from app.compute.pool.settings import PoolSettings
from app.compute.spec import ProgramSpec
from app.core.values import Aval

PYTHONIC = "tests.compute.pool.pythonic:Pythonic"


@pytest.fixture(scope="module")
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    """One event loop a module: uvloop, as the server has, where the module says so."""
    factory = uvloop.new_event_loop if getattr(request.module, "UVLOOP", False) else None
    with asyncio.Runner(loop_factory=factory) as runner:
        yield runner


StartPool = Callable[..., LocalPool]


@pytest.fixture(scope="module")
def start_pool(runner: asyncio.Runner) -> Iterator[StartPool]:
    """A call that starts a pool of these settings; all are stopped, and leave no process."""
    pools: list[LocalPool] = []

    def start(**settings: Any) -> LocalPool:
        pool = LocalPool(PoolSettings(**settings))
        runner.run(pool.start())
        pools.append(pool)
        return pool

    yield start
    for pool in pools:
        status = pool.status()
        pids = [status["zygote"], *(worker["pid"] for worker in status["workers"])]
        runner.run(pool.stop(0.0))
        for pid in pids:
            assert pid is None or wait_until(lambda pid=pid: not is_running(pid)), pid


@pytest.fixture(scope="module")
def pythonic(start_pool: StartPool) -> LocalPool:
    """A pool whose engine runs plain Python."""
    return start_pool(engine=PYTHONIC, trace_s=1.0, compile_s=1.5, load_s=1.0, cancel_s=0.3)


@pytest.fixture(scope="module")
def real(start_pool: StartPool) -> LocalPool:
    """A pool with the real engine."""
    return start_pool()


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether a condition comes to hold in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def is_running(pid: int) -> bool:
    """Whether there is such a process and it is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def python_image(source: str, origin: str = "compiled") -> ProgramImage:
    """An image for the pythonic engine: the blob is its source."""
    spec = ProgramSpec(source, None, "evaluate", {}, ())
    return ProgramImage(spec.key(), source.encode(), {}, spec, origin)  # type: ignore[arg-type]


def spec_of(source: str, *shapes: tuple[int, ...], verb: str = "evaluate") -> ProgramSpec:
    """A spec for float64 arguments of these shapes."""
    avals = tuple(Aval("float64", shape) for shape in shapes)
    return ProgramSpec(source, None, verb, {"args": list(range(len(shapes)))}, avals)


async def compiled(pool: LocalPool, spec: ProgramSpec) -> ProgramImage:
    """The image of a spec, lowered and compiled by the pool."""
    lowering = await pool.lower(spec)
    blob = await pool.compile(lowering)
    return ProgramImage(spec.key(), blob, lowering.meta, spec)
