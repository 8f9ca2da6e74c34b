"""Programs of the real engine through real workers: right numbers, residents, order, routing."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time

import numpy as np
import pytest
import scipy.optimize

from app.compute.image import ImageRejected, ProgramImage, Resident
from app.compute.pool.local import LocalPool
from app.core.errors import InvalidArgument, RefusedSource
from tests.compute.pool.conftest import StartPool, compiled, spec_of

ROSENBROCK = "lambda x: sum(100.0 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"
RUN = {"deadline_s": 20.0}


@pytest.mark.parametrize("size", [10, 10_000, 1_000_000])
def test_gradient_is_right_and_the_program_stays(
    runner: asyncio.Runner, real: LocalPool, size: int
) -> None:
    x = np.random.default_rng(size).normal(size=size)

    async def scenario() -> None:
        image = await compiled(real, spec_of(ROSENBROCK, (size,), verb="grad"))
        first = await real.run(image, [x], **RUN)
        second = await real.run(image, [x], **RUN)
        assert (first.loaded, second.loaded) == (True, False)
        assert first.device == "cpu:0"
        assert set(first.timings) == {"queue", "transfer", "load", "execute"}
        assert all(seconds >= 0 for seconds in first.timings.values())
        for result in (first, second):
            expected = scipy.optimize.rosen_der(x)
            np.testing.assert_allclose(result.leaves[0], expected, rtol=1e-12, atol=1e-10)
        rounds = 200 if size < 10**6 else 20
        seconds = []
        for _ in range(rounds):
            begun = time.perf_counter()
            await real.run(image, [x], **RUN)
            seconds.append(time.perf_counter() - begun)
        print(f"round trip n={size}: median {statistics.median(seconds) * 1e6:.0f} us")

    runner.run(scenario())


def test_meta_says_what_the_program_costs(runner: asyncio.Runner, real: LocalPool) -> None:
    image = runner.run(compiled(real, spec_of("lambda x: x @ x", (100,))))
    assert image.meta["out_avals"] == [["float64", [], "dense", None]]
    assert image.meta["cost"]["flops"] >= 100


def test_pipelined_requests_keep_their_order(runner: asyncio.Runner, real: LocalPool) -> None:
    async def scenario() -> None:
        image = await compiled(real, spec_of("lambda x: x + 1.0", (3,)))
        ended: list[int] = []

        async def one(place: int) -> None:
            result = await real.run(image, [np.full(3, float(place))], **RUN)
            np.testing.assert_array_equal(result.leaves[0], np.full(3, place + 1.0))
            ended.append(place)

        await asyncio.gather(*(one(place) for place in range(100)))
        assert ended == sorted(ended)

    runner.run(scenario())


def test_large_arrays_arrive_whole_while_results_are_held(
    runner: asyncio.Runner, real: LocalPool
) -> None:
    sizes = [10**6, 9_000, 300_000, 10**6]

    async def scenario() -> list[np.ndarray]:
        held = []
        for size in sizes:
            image = await compiled(real, spec_of("lambda x: 2.0 * x", (size,)))
            x = np.arange(float(size))
            results = await asyncio.gather(*(real.run(image, [x + n], **RUN) for n in range(4)))
            held += [(result.leaves[0], 2 * (x + n)) for n, result in enumerate(results)]
        return held

    for found, expected in runner.run(scenario()):
        np.testing.assert_array_equal(found, expected)
    gc.collect()
    assert real.devices()[0]["memory"]["shared"] == 0


def test_resident_arrays_are_sent_once_and_again_when_dropped(
    runner: asyncio.Runner, start_pool: StartPool
) -> None:
    pool = start_pool(array_bytes=1_000_000, spare=False)
    arrays = [Resident(f"arr_{n}", np.full(50_000, float(n))) for n in range(4)]

    async def scenario() -> None:
        image = await compiled(pool, spec_of("lambda x, y: x @ y", (50_000,), (50_000,)))
        for first in (*arrays, *reversed(arrays)):
            y = np.ones(50_000)
            result = await pool.run(image, [first, y], **RUN)
            assert result.leaves[0] == first.value.sum()
        assert pool.devices()[0]["resident_arrays"] == 2
        result = await pool.run(image, [arrays[2], arrays[3]], **RUN)
        assert result.leaves[0] == 50_000 * 6.0

    runner.run(scenario())


def test_programs_dropped_for_room_are_loaded_again(
    runner: asyncio.Runner, start_pool: StartPool
) -> None:
    pool = start_pool(program_bytes=20_000, spare=False)

    async def scenario() -> None:
        images = [
            await compiled(pool, spec_of(f"lambda x: sin(x) + {n}.0", (3,))) for n in range(6)
        ]
        for _ in range(2):
            for n, image in enumerate(images):
                result = await pool.run(image, [np.zeros(3)], **RUN)
                assert result.leaves[0].tolist() == [n] * 3
        assert pool.devices()[0]["memory"]["programs"] <= 20_000
        assert pool.status()["counters"]["loads"] == 12

    runner.run(scenario())


def test_two_devices_pin_and_spread(runner: asyncio.Runner, start_pool: StartPool) -> None:
    pool = start_pool(devices=2, spare=False, window=2)
    assert [device["id"] for device in pool.devices()] == ["cpu:0", "cpu:1"]

    async def scenario() -> None:
        image = await compiled(pool, spec_of("lambda x: cos(x)", (2,)))
        for device in ("cpu:1", "cpu:0", "cpu:1"):
            result = await pool.run(image, [np.zeros(2)], device=device, **RUN)
            assert result.device == device
            assert result.leaves[0].tolist() == [1.0, 1.0]
        results = await asyncio.gather(*(pool.run(image, [np.zeros(2)], **RUN) for _ in range(40)))
        assert {result.device for result in results} == {"cpu:0", "cpu:1"}
        with pytest.raises(InvalidArgument) as caught:
            await pool.run(image, [np.zeros(2)], device="cpu:7", **RUN)
        assert "cpu:0, cpu:1" in (caught.value.hint or "")

    runner.run(scenario())


def test_program_without_a_blob_is_compiled_where_it_runs(
    runner: asyncio.Runner, real: LocalPool
) -> None:
    spec = spec_of("lambda x: exp(x)", (2,))
    image = ProgramImage(spec.key(), None, {}, spec)
    result = runner.run(real.run(image, [np.zeros(2)], **RUN))
    assert result.leaves[0].tolist() == [1.0, 1.0]


def test_stored_program_is_verified_then_loaded(runner: asyncio.Runner, real: LocalPool) -> None:
    async def scenario() -> None:
        spec = spec_of("lambda x: jnp.linalg.svd(x)[1]", (3, 3))
        fresh = await compiled(real, spec)
        stored = ProgramImage(fresh.key, fresh.blob, fresh.meta, spec, "store")
        result = await real.run(stored, [np.diag([1.0, 5.0, 3.0])], **RUN)
        np.testing.assert_allclose(result.leaves[0], [5.0, 3.0, 1.0], rtol=1e-14)
        assert fresh.blob is not None
        other = ProgramImage("0" * 64, fresh.blob[:-50], {}, spec, "store")
        with pytest.raises(ImageRejected):
            await real.run(other, [np.zeros((3, 3))], **RUN)

    runner.run(scenario())


def test_questions_are_answered_by_compile_workers(runner: asyncio.Runner, real: LocalPool) -> None:
    spec = spec_of("def f(x):\n    y = log(x)\n    return y * 2.0", (2,))

    async def scenario() -> None:
        checked = await real.ask("check", {"source": spec.source, "entry": None}, **RUN)
        assert checked["parameters"] == [{"name": "x"}]
        shapes = await real.ask("abstract_eval", {"spec": spec}, **RUN)
        assert shapes["out"] == {"dtype": "float64", "shape": [2]}
        text = await real.ask("ir", {"spec": spec, "stage": "jaxpr"}, **RUN)
        assert "log" in text["text"]
        found = await real.ask("diagnose", {"spec": spec}, [np.array([0.0, 1.0])], **RUN)
        assert found["items"][0]["line"] == 2
        assert (await real.ask("catalogue", {}, **RUN))["items"]

    runner.run(scenario())


def test_refusals_cross_the_process_border_whole(runner: asyncio.Runner, real: LocalPool) -> None:
    async def scenario() -> RefusedSource:
        with pytest.raises(RefusedSource) as caught:
            await real.lower(spec_of("def f(x):\n    return open(x)", (2,)))
        return caught.value

    error = runner.run(scenario())
    assert (error.line, error.status) == (2, 422)
    assert error.column is not None


def test_lowerings_are_bounded_and_come_back(runner: asyncio.Runner, start_pool: StartPool) -> None:
    pool = start_pool(lowerings=2, spare=False)

    async def scenario() -> None:
        specs = [spec_of(f"lambda x: x + {n}.0", (2,)) for n in range(4)]
        lowerings = [await pool.lower(spec) for spec in specs]
        await pool.discard(lowerings[3])
        for n, lowering in enumerate(lowerings):
            blob = await pool.compile(lowering)
            image = ProgramImage(specs[n].key(), blob, lowering.meta, specs[n])
            assert (await pool.run(image, [np.zeros(2)], **RUN)).leaves[0].tolist() == [n, n]

    runner.run(scenario())
