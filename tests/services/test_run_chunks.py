"""Solvers in chunks: what they tell, and that they end the same however they are disturbed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.services.assembly import Services, assemble
from app.services.call import RunOptions
from app.services.runs.run import Run
from tests.services import solving

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data directory for all: what one test compiles, the next ones find."""
    return tmp_path_factory.mktemp("runs")


@asynccontextmanager
async def started(data: Path) -> AsyncIterator[Services]:
    services = assemble(solving.settings(data))
    await services.start()
    try:
        yield services
    finally:
        await services.stop()


async def ended(services: Services, run_id: str) -> tuple[Run, dict[str, Any]]:
    """The run at its end, and what it gave."""
    await services.runs.wait(run_id, 60)
    run = await services.runs.get(run_id, solving.ME)
    assert run.status == "done", run.document()
    body = await services.runs.document(run, "msgpack")
    return run, solving.decoded(body)


async def told(services: Services, run_id: str) -> list[dict[str, Any]]:
    run = await services.runs.get(run_id, solving.ME)
    events = [each async for batch in services.runs.listen(run, 0, 1.0) for each in batch]
    return [solving.read(each.data) for each in events if each.kind == "progress"]


@pytest.fixture(scope="module")
def whole(data: Path) -> list[np.ndarray]:
    """The result of one program that is never interrupted."""

    async def scene() -> list[np.ndarray]:
        async with started(data) as services:
            spec, leaves = await solving.spec_of(services)
            answer = await services.calls.answer(spec, leaves, RunOptions())
            return answer.leaves

    leaves = asyncio.run(scene())
    assert leaves[0] == pytest.approx(np.ones(len(solving.START)), abs=1e-6)
    return leaves


def same(result: dict[str, Any], whole: list[np.ndarray]) -> bool:
    """Bit for bit: chunks do the very steps of the whole."""
    names = ("solution", "value", "gradient_norm")
    return all(
        np.array_equal(solving.array(result[name]), leaf)
        for name, leaf in zip(names, whole[:3], strict=True)
    )


def test_chunks_end_as_the_whole_and_tell_how_far_they_are(
    data: Path, whole: list[np.ndarray]
) -> None:
    async def scene() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        async with started(data) as services:
            run = await solving.begin(services)
            _, result = await ended(services, run.id)
            return result, await told(services, run.id)

    result, progress = asyncio.run(scene())
    assert same(result, whole)
    iterations = [each["iteration"] for each in progress if each["phase"] == "solving"]
    assert len(iterations) > 5
    assert iterations == sorted(set(iterations))
    assert iterations[-1] == whole[3]


def test_a_killed_process_leaves_a_checkpoint_that_the_next_goes_on_from(
    data: Path, whole: list[np.ndarray]
) -> None:
    command = [sys.executable, "-m", "tests.services.solving", str(data)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = (line.split() for line in process.stdout)
        run_id = next(words[0] for words in said if words[0].startswith("run_"))
        os.kill(process.pid, signal.SIGKILL)

    async def scene() -> tuple[Run, dict[str, Any], list[dict[str, Any]]]:
        async with started(data) as services:
            run, result = await ended(services, run_id)
            return run, result, await told(services, run_id)

    run, result, progress = asyncio.run(scene())
    assert run.attempts == 2
    assert same(result, whole)
    phases = [each["phase"] for each in progress]
    again = len(phases) - phases[::-1].index("compiling") if "compiling" in phases[1:] else 0
    assert progress[again]["iteration"] > 2


def test_a_drained_process_keeps_where_it_was(data: Path, whole: list[np.ndarray]) -> None:
    async def first() -> tuple[str, int]:
        async with started(data) as services:
            run = await solving.begin(services)
            async for batch in services.runs.listen(run, 0, 1.0):
                done = [solving.read(each.data).get("iteration", 0) for each in batch]
                if max(done, default=0) >= 3:
                    return run.id, max(done)
        raise AssertionError("it never came so far")

    async def second(run_id: str) -> tuple[Run, dict[str, Any], list[dict[str, Any]]]:
        async with started(data) as services:
            run, result = await ended(services, run_id)
            return run, result, await told(services, run_id)

    run_id, reached = asyncio.run(first())
    run, result, progress = asyncio.run(second(run_id))
    assert run.attempts == 1
    assert same(result, whole)
    iterations = [each["iteration"] for each in progress if each["phase"] == "solving"]
    assert iterations == sorted(iterations)
    assert min(each for each in iterations if each > reached) <= reached + 8
