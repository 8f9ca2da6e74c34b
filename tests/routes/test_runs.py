"""Runs over HTTP: begun, listed, listened to, cancelled, against a real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import msgpack
import numpy as np
import pytest

from tests.conftest import StartServer
from tests.following import DEEP, LOOP, Follower, count, loop
from tests.serving import ServerProcess

SQUARES = {"function": "lambda x: sum(x**2)", "args": [[1.0, 2.0, 3.0]]}
ASYNC = {"prefer": "respond-async"}


@pytest.fixture
def here(server: ServerProcess) -> Iterator[Follower]:
    with Follower(server.url) as follower:
        yield follower


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("grad", SQUARES),
        ("evaluate", {"function": "lambda a, b: [a @ b, {'n': a}]", "args": [[1, 2], [3, 4]]}),
        ("hessian", {**SQUARES, "output": {"encoding": "base64"}}),
        ("abstract_eval", SQUARES),
    ],
)
def test_a_run_ends_with_the_answer_of_the_call(here: Follower, verb: str, body: dict) -> None:
    run = here.wait(here.begin(verb, body))
    answer = here.call(verb, body)
    assert run["status"] == "done"
    assert run["verb"] == verb
    assert run["created"] <= run["started"] <= run["ended"]
    varying = {"cache", "missed"}
    assert {name: run[name] for name in answer if name not in varying} == {
        name: value for name, value in answer.items() if name not in varying
    }


def test_a_run_by_program_id(here: Follower) -> None:
    program = here.call("grad", SQUARES)["program"]
    run = here.wait(here.begin(f"programs/{program}", {"args": [[4.0, 5.0, 6.0]]}))
    assert run["result"] == [8.0, 10.0, 12.0]
    assert run["program"] == program


def test_msgpack_in_and_out(here: Follower) -> None:
    values = np.linspace(0, 1, 100_000)
    array = {"dtype": "float64", "shape": [100_000], "data": values.tobytes()}
    body = msgpack.packb({"function": "lambda x: x * 2", "args": [array]})
    headers = {"content-type": "application/msgpack", **ASYNC}
    answer = here.http.post("/v1/evaluate", content=body, headers=headers)
    run_id = msgpack.unpackb(answer.content)["run"]
    here.wait(run_id)
    got = here.http.get(f"/v1/runs/{run_id}", headers={"accept": "application/msgpack"})
    result = msgpack.unpackb(got.content)["result"]
    assert np.array_equal(np.frombuffer(result["data"]), values * 2)
    result_event = [event for event in here.events(run_id) if event.kind == "result"]
    assert result_event[0].data == {"location": f"/v1/runs/{run_id}"}


def test_results_kept_as_arrays(here: Follower) -> None:
    run = here.wait(here.begin("grad", {**SQUARES, "output": {"store": True}}))
    data = here.http.get(f"/v1/arrays/{run['result']['ref']}/data").json()
    assert data == [2.0, 4.0, 6.0]


def test_wait_answers_at_once_where_it_can(here: Follower) -> None:
    headers = {"prefer": "respond-async, wait=20"}
    answer = here.http.post("/v1/grad", json=SQUARES, headers=headers)
    assert answer.status_code == 200
    assert answer.json()["result"] == [2.0, 4.0, 6.0]
    assert answer.headers["preference-applied"] == "respond-async"
    headers = {"prefer": "wait=1, respond-async"}
    answer = here.http.post("/v1/evaluate", json=loop(300_000_000), headers=headers)
    assert answer.status_code == 202
    here.cancel(answer.json()["run"])
    assert here.http.post("/v1/grad", json=SQUARES, headers={"prefer": "x"}).status_code == 200


def test_what_fails_within_the_wait_answers_as_the_call_does(here: Follower) -> None:
    body = {"function": "def f(x):\n    return x.__class__\n", "args": [1]}
    called = here.http.post("/v1/grad", json=body)
    waited = here.http.post("/v1/grad", json=body, headers={"prefer": "respond-async, wait=20"})
    assert (waited.status_code, waited.json()) == (called.status_code, called.json())
    assert waited.headers["content-type"] == "application/problem+json"
    assert here.http.get(waited.headers["location"]).json()["problem"] == waited.json()


def test_what_can_be_refused_is_refused_at_once(here: Follower) -> None:
    answer = here.http.post("/v1/grad", json={"function": 3}, headers=ASYNC)
    assert answer.status_code == 422
    assert answer.json()["pointer"] == "/function"


def test_a_failed_run_says_why(here: Follower) -> None:
    run_id = here.begin("grad", {"function": "def f(x):\n    return x.__class__\n", "args": [1]})
    run = here.wait(run_id)
    assert run["status"] == "failed"
    assert "result" not in run
    assert run["problem"]["type"] == "/problems/refused-source"
    assert run["problem"]["line"] == 2
    events = list(here.events(run_id))
    assert [event.kind for event in events[-2:]] == ["problem", "status"]
    assert events[-2].data == run["problem"]


def test_its_own_time_limit_ends_a_run(here: Follower) -> None:
    run = here.wait(here.begin("evaluate", {**loop(300_000_000), "timeout_s": 0.3}))
    assert run["status"] == "failed"
    assert run["problem"]["status"] == 504


def test_unknown_runs(here: Follower) -> None:
    for run_id in ("unknown", "run_" + "0" * 32):
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events")):
            answer = here.http.request(method, f"/v1/runs/{run_id}{path}")
            assert answer.status_code == 404
            assert answer.headers["content-type"] == "application/problem+json"
    assert here.http.post("/v1/runs").status_code == 405


def test_listing_pages_through_the_latest_first(here: Follower) -> None:
    made = [here.begin("jvp", {**SQUARES, "tangents": [[1, 0, 0]]}) for _ in range(5)]
    for run_id in made:
        here.wait(run_id)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        query = {"verb": "jvp", "status": "done", "limit": "2"} | (
            {"cursor": cursor} if cursor else {}
        )
        page = here.http.get("/v1/runs", params=query).json()
        seen += [run["run"] for run in page["data"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(seen, reverse=True) == seen
    assert [run_id for run_id in seen if run_id in made] == made[::-1]
    assert here.http.get("/v1/runs?status=failed&verb=jvp").json() == {"data": [], "next": None}
    both = here.http.get("/v1/runs?status=done&status=failed&verb=jvp&verb=none").json()
    assert [run["run"] for run in both["data"] if run["run"] in made] == made[::-1]
    for bad in ("status=lost", "cursor=zzz", "limit=0"):
        answer = here.http.get(f"/v1/runs?{bad}")
        assert answer.status_code == 422, bad


def test_events_tell_everything_in_order_and_go_on_where_asked(here: Follower) -> None:
    run_id = here.begin("evaluate", loop(2_000_000, 0.5))
    live = list(here.events(run_id))
    assert [event.id for event in live] == list(range(1, len(live) + 1))
    said = [event.data.get("status") for event in live if event.kind == "status"]
    assert said == ["queued", "running", "done"]
    assert [event.kind for event in live[-2:]] == ["result", "status"]
    run = here.get(run_id)
    assert live[-2].data["result"] == run["result"]
    for last in range(1, len(live)):
        assert list(here.events(run_id, last)) == live[last:]
    after = here.http.get(f"/v1/runs/{run_id}/events", headers={"last-event-id": str(len(live))})
    assert after.status_code == 204
    for foreign in (len(live) + 1, 99999):
        assert list(here.events(run_id, foreign)) == live


def test_the_same_key_begins_one_run(here: Follower) -> None:
    key = {"idempotency-key": f"key-{time.time()}"}
    with ThreadPoolExecutor(8) as threads:
        ids = set(threads.map(lambda _: here.begin("grad", SQUARES, **key), range(16)))
    assert len(ids) == 1
    here.wait(ids.pop())
    other = {"function": "lambda x: x", "args": [1.0]}
    for verb, body in (("grad", other), ("hessian", SQUARES)):
        answer = here.http.post(f"/v1/{verb}", json=body, headers={**ASYNC, **key})
        assert answer.status_code == 409, answer.text
    for bad in ("", "k" * 300):
        headers = {**ASYNC, "idempotency-key": bad}
        assert here.http.post("/v1/grad", json=SQUARES, headers=headers).status_code == 422


def test_cancel_while_executing_compiling_and_queued(here: Follower) -> None:
    executing = here.begin("evaluate", loop(1_000_000_000))
    compiling = here.begin("hessian", {"function": DEEP.format(shift=0.1), "args": [1.0]})
    here.phase(executing, "executing")
    here.phase(compiling, "compiling")
    waiting = here.begin("evaluate", loop(1_000_000_000, 0.5))
    assert here.get(waiting)["status"] == "queued"
    for run_id in (waiting, compiling, executing):
        run, seconds = here.cancel(run_id)
        assert run["status"] == "cancelled"
        assert seconds < 1
        assert here.cancel(run_id)[0] == run
        events = list(here.events(run_id))
        assert events[-1].data["status"] == "cancelled"
    begun = time.perf_counter()
    assert here.call("evaluate", loop(10))["result"] == pytest.approx(1.0, abs=1e-6)
    assert time.perf_counter() - begun < 10
    done = here.wait(here.begin("grad", SQUARES))
    assert here.cancel(done["run"])[0] == done


def test_two_hundred_listeners(here: Follower, server: ServerProcess) -> None:
    run_id = here.begin("evaluate", loop(1_000_000_000))
    here.phase(run_id, "executing")
    limits = httpx.Limits(max_connections=200)
    endings: list[bytes] = []
    listening = threading.Semaphore(0)

    def listen(http: httpx.Client) -> None:
        with http.stream("GET", f"/v1/runs/{run_id}/events", timeout=60) as answer:
            heard = b""
            for piece in answer.iter_raw():
                if b'"executing"' not in heard and b'"executing"' in heard + piece:
                    listening.release()
                heard += piece
            endings.append(heard)

    with httpx.Client(base_url=server.url, limits=limits) as http:
        threads = [threading.Thread(target=listen, args=(http,)) for _ in range(200)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert listening.acquire(timeout=40)
        assert here.http.get("/health/live").elapsed.total_seconds() < 1
        here.cancel(run_id)
        for thread in threads:
            thread.join(10)
    assert len(endings) == 200
    assert all(b'"status":"cancelled"' in heard for heard in endings)


def test_clients_with_keys_see_their_own_runs(start_server: StartServer) -> None:
    server = start_server({"GRADSERVE_API_KEYS": '["first-key", "second-key"]'})
    first = Follower(server.url, {"authorization": "Bearer first-key"})
    second = Follower(server.url, {"authorization": "Bearer second-key"})
    with first, second:
        run_id = first.begin("grad", SQUARES)
        assert first.wait(run_id)["status"] == "done"
        assert second.http.get(f"/v1/runs/{run_id}").status_code == 404
        assert second.http.delete(f"/v1/runs/{run_id}").status_code == 404
        assert second.http.get("/v1/runs").json()["data"] == []
        assert [run["run"] for run in first.http.get("/v1/runs").json()["data"]] == [run_id]
        key = {"idempotency-key": "the same"}
        assert first.begin("grad", SQUARES, **key) != second.begin("grad", SQUARES, **key)
        assert httpx.get(f"{server.url}/v1/runs").status_code == 401


def test_a_long_run_leaves_the_other_device_to_short_calls(start_server: StartServer) -> None:
    server = start_server(
        {
            "GRADSERVE_DEVICES": "2",
            "GRADSERVE_ASYNC_QUEUE_CLIENT": "1",
            "GRADSERVE_HEARTBEAT_S": "0.2",
        }
    )
    with Follower(server.url) as here:
        here.call("evaluate", loop(10))
        long = [here.begin("evaluate", loop(1_000_000_000, x)) for x in (0.1,)]
        here.phase(long[0], "executing")
        with here.http.stream("GET", f"/v1/runs/{long[0]}/events", timeout=20) as quiet:
            lines = quiet.iter_lines()
            beats = [line for line, _ in zip(lines, range(40), strict=False) if line[:1] == ":"]
        assert set(beats) == {": heartbeat"}
        assert len(beats) > 2
        begun = time.perf_counter()
        for _ in range(20):
            here.call("evaluate", loop(10))
        assert time.perf_counter() - begun < 5
        long.append(here.begin("evaluate", loop(1_000_000_000, 0.2)))
        here.wait(long[1], "running")
        long.append(here.begin("evaluate", loop(1_000_000_000, 0.3)))
        full = here.http.post("/v1/evaluate", json=loop(9), headers=ASYNC)
        assert full.status_code == 429
        assert int(full.headers["retry-after"]) > 0
        assert here.call("evaluate", {"function": LOOP, "args": [1.0, count(5)]})
        for run_id in long:
            here.cancel(run_id)
        wanted = ('_ended_total{status="cancelled"} 3.0', '_now{state="running"} 0.0')
        end = time.monotonic() + 10
        while not all(line in here.http.get("/metrics").text for line in wanted):
            assert time.monotonic() < end
            time.sleep(0.05)


def test_runs_are_in_the_api_document(here: Follower) -> None:
    document = here.http.get("/openapi.json").json()
    paths = document["paths"]
    assert set(paths["/v1/runs/{run_id}"]) == {"get", "delete"}
    assert "text/event-stream" in str(paths["/v1/runs/{run_id}/events"]["get"]["responses"]["200"])
    for path in ("/v1/grad", "/v1/minimize", "/v1/programs/{name}"):
        operation = paths[path]["post"]
        assert "202" in operation["responses"]
        assert {"Prefer", "Idempotency-Key"} <= {each["name"] for each in operation["parameters"]}
