"""Fair queueing, the pace of chunks, run ids, and what is packed for the store."""

from __future__ import annotations

import asyncio
import time

import ml_dtypes
import numpy as np
import pytest

from app.compute.image import Resident
from app.compute.spec import ProgramSpec
from app.core.codec.calls import CodecLimits
from app.core.codec.decode import Reference
from app.core.errors import TooManyRequests
from app.core.ids import is_id
from app.core.values import Aval, SparseValue
from app.services.call import Answer, RunOptions
from app.services.matrix import Matrix
from app.services.runs import packing
from app.services.runs.forecast import Forecast
from app.services.runs.pace import LONGEST_S, TARGET_S, Pace
from app.services.runs.packing import Request, Result
from app.services.runs.queue import FairQueue, QueueLimits
from app.services.runs.run import Client, Run, made_at, new_id

LIMITS = CodecLimits()


def taken(queue: FairQueue, count: int) -> list[str]:
    async def take() -> list[str]:
        return [await asyncio.wait_for(queue.get(), 1) for _ in range(count)]

    return asyncio.run(take())


def test_clients_take_turns() -> None:
    queue = FairQueue(QueueLimits(10, 20))
    for run in ("a1", "a2", "a3", "b1", "c1", "c2"):
        queue.put(run[0], run)
    assert taken(queue, 6) == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert len(queue) == 0


def test_a_run_waits_once_and_can_be_taken_out() -> None:
    queue = FairQueue(QueueLimits(10, 20))
    for run in ("a1", "a2", "a1"):
        queue.put("a", run)
    queue.discard("a", "a1")
    queue.discard("a", "gone")
    assert len(queue) == 1
    assert "a1" not in queue
    assert taken(queue, 1) == ["a2"]


def test_the_queue_is_bounded_per_client_and_altogether() -> None:
    queue = FairQueue(QueueLimits(2, 3))
    queue.put("a", "a1")
    queue.put("a", "a2")
    queue.admit("b")
    with pytest.raises(TooManyRequests):
        queue.admit("a")
    queue.put("b", "b1")
    with pytest.raises(TooManyRequests) as refused:
        queue.admit("c")
    assert refused.value.retry_after


def test_who_waits_for_a_run_gets_it() -> None:
    async def scene() -> str:
        queue = FairQueue(QueueLimits(2, 3))
        waiting = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        queue.put("a", "a1")
        return await asyncio.wait_for(waiting, 1)

    assert asyncio.run(scene()) == "a1"


@pytest.mark.parametrize("step_s", [1e-7, 1e-4, 3e-3, 0.04])
def test_chunks_grow_to_the_target(step_s: float) -> None:
    pace, spent = Pace(), 0.0
    for _ in range(12):
        spent = pace.steps * step_s
        pace.measured(spent, 0.0005)
    assert spent == pytest.approx(TARGET_S, rel=0.35)


def test_chunks_are_longer_where_handing_over_is_dear() -> None:
    pace = Pace()
    for _ in range(40):
        spent = pace.steps * 1e-3
        pace.measured(spent, 0.004)
    assert spent * 0.02 >= 0.004
    for _ in range(40):
        spent = pace.steps * 1e-3
        pace.measured(spent, 0.5)
    assert spent <= LONGEST_S * 1.01


def test_ids_sort_by_time_and_tell_it() -> None:
    now = time.time()
    ids = [new_id(now + second) for second in range(5)]
    assert ids == sorted(ids)
    assert all(is_id("run", each) for each in ids)
    assert made_at(ids[0]) == pytest.approx(now, abs=0.002)
    assert len({new_id(now) for _ in range(100)}) == 100


def test_a_run_survives_the_store() -> None:
    run = Run.new("grad", Client("somebody", "tenant")).begun().finished("failed", {"status": 422})
    assert Run.from_wire(run.to_wire()) == run
    said = run.document()
    assert said["status"] == "failed"
    assert said["problem"] == {"status": 422}
    assert said["created"].endswith("Z")
    assert said["started"] <= said["ended"]
    assert "tenant" not in said
    assert "client" not in said


LEAVES = [
    np.array(True),
    np.array([True, False]),
    np.array(2.5),
    np.array([[1, -0.0], [np.nan, np.inf]]),
    np.array(7, np.int32),
    np.array([2**63 - 1], np.int64),
    np.array([1 + 2j], np.complex64),
    np.zeros((0, 3)),
    np.array([1.5], ml_dtypes.bfloat16),
]


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    return (
        got.dtype == wanted.dtype
        and got.shape == wanted.shape
        and np.ascontiguousarray(got).tobytes() == wanted.tobytes()
    )


def test_leaves_keep_dtype_shape_and_bits() -> None:
    got = packing.unpack_leaves(packing.pack_leaves(LEAVES), LIMITS)
    assert all(map(same, got, LEAVES))
    assert len(got) == len(LEAVES)


def test_requests_keep_references_as_references() -> None:
    spec = ProgramSpec(
        "lambda x: x", None, "grad", {"args": [0, 1]}, (Aval("float64", ()),), {"wrt": ["x"]}
    )
    sparse = SparseValue(
        "coo",
        (2, 2),
        {"row": np.array([0]), "col": np.array([1]), "values": np.array([2.0])},
    )
    kept = "arr_" + "1" * 32
    leaves = [
        Resident("arr_" + "0" * 32, np.zeros(3)),
        np.array(1.0),
        Matrix.of(sparse),
        Matrix.of(sparse, kept),
    ]
    options = RunOptions(timeout_s=3.0, background=True)
    request = packing.unpack_request(
        packing.pack_request(Request(spec, leaves, options, "base64")), LIMITS
    )
    assert request.spec == spec
    assert request.spec.key() == spec.key()
    assert request.options == options
    assert request.encoding == "base64"
    reference, scalar, coo, matrix = request.leaves
    assert isinstance(matrix, Reference)
    assert matrix.id == kept
    assert isinstance(reference, Reference)
    assert reference.id == leaves[0].id
    assert same(scalar, np.array(1.0))
    assert isinstance(coo, SparseValue)
    assert coo.shape == (2, 2)
    assert same(coo.parts["col"], np.array([1]))


def test_results_survive_the_store() -> None:
    answer = Answer({"x": 0, "y": [1]}, [np.array(1.0), np.array([2, 3])], {"device": "cpu:0"})
    result = packing.unpack_result(packing.pack_result(Result(answer, "float64", "json")), LIMITS)
    assert result.answer.result == answer.result
    assert result.answer.fields == answer.fields
    assert all(map(same, result.answer.leaves, answer.leaves))


def test_a_forecast_needs_two_points() -> None:
    forecast = Forecast()
    assert forecast.of({"iteration": 4, "fraction": 0.2}) == {}
    time.sleep(0.05)
    said = forecast.of({"iteration": 9, "fraction": 0.6})
    assert said["left_s"] == pytest.approx(0.05, rel=0.5)
    assert said["rate"] == pytest.approx(100, rel=0.5)
    assert "left_s" not in forecast.of({"iteration": [1, 2], "value": "NaN"})
    assert forecast.of({"value": "NaN"}) == {}


def test_a_forecast_of_a_batch_follows_the_longest_way_to_go() -> None:
    forecast = Forecast()
    forecast.of({"iteration": [0, 0], "fraction": [0.0, 0.0]})
    time.sleep(0.05)
    said = forecast.of({"iteration": [10, 5], "fraction": [1.0, 0.5]})
    assert said["left_s"] == pytest.approx(0.05, rel=0.5)
    assert said["rate"] == pytest.approx(200, rel=0.5)
