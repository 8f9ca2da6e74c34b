"""Functions, programs, devices and operations over HTTP: ids, ETags, cost, IR, keys, health."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.serving import ServerProcess

SOURCE = "def f(x, y):\n    z = x**2\n    return jnp.sum(z * sin(y))"
STAGES = ("jaxpr", "stablehlo", "hlo")


def test_a_function_is_kept_once_and_used_by_id(client: httpx.Client) -> None:
    posts = [client.post("/v1/functions", json={"source": SOURCE}) for _ in range(2)]
    assert [post.status_code for post in posts] == [201, 200]
    described = posts[0].json()
    assert described["parameters"] == [{"name": "x"}, {"name": "y"}]
    assert posts[0].headers["etag"] == f'"{described["function"]}"'
    got = client.get(posts[0].headers["location"])
    assert got.json()["source"] == SOURCE
    held = client.get(posts[0].headers["location"], headers={"if-none-match": got.headers["etag"]})
    assert held.status_code == 304
    call = {"function": {"id": described["function"]}, "args": [[3.0], [0.5]], "wrt": "y"}
    by_id = client.post("/v1/grad", json=call).json()
    by_source = client.post("/v1/grad", json={**call, "function": SOURCE}).json()
    assert by_id["result"] == by_source["result"]
    assert by_id["program"] == by_source["program"]


def test_a_refused_function_is_not_kept(client: httpx.Client) -> None:
    answer = client.post("/v1/functions", json={"source": "lambda x: open(x)"})
    assert answer.status_code == 422
    assert (answer.json()["line"], answer.json()["column"]) == (1, 11)
    assert client.get("/v1/functions/fn_" + "0" * 32).status_code == 404


def test_a_program_is_compiled_ahead_and_run_by_id(client: httpx.Client) -> None:
    shape = {"shape": [4], "dtype": "float64"}
    body = {"verb": "grad", "function": SOURCE + "  # ahead", "args": [shape, shape]}
    made = client.post("/v1/programs", json=body)
    assert made.status_code == 201
    described = made.json()
    assert described["cache"] == {"state": "compiled", "missed": ["source"]}
    assert described["cost"]["flops"] > 0
    assert described["cost"]["peak_memory"] > 0
    assert client.post("/v1/programs", json=body).status_code == 200
    args = [[1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 1.0, 1.5]]
    run = client.post(made.headers["location"], json={"args": args}).json()
    whole = client.post("/v1/grad", json={"function": body["function"], "args": args}).json()
    assert run["result"] == whole["result"]
    assert run["program"] == whole["program"] == described["program"]
    assert whole["cache"] == "memory"


def test_a_miss_names_what_differed(client: httpx.Client) -> None:
    function = SOURCE + "  # miss"
    first = {"function": function, "args": [[1.0], [2.0]]}
    client.post("/v1/grad", json=first)
    other = client.post("/v1/grad", json={**first, "args": [[1.0, 2.0], [2.0, 3.0]]}).json()
    assert other["missed"] == ["avals"]
    assert client.post("/v1/evaluate", json=first).json()["missed"] == ["verb"]


def test_other_shapes_than_compiled_for_are_refused(client: httpx.Client) -> None:
    call = {"function": SOURCE, "args": [[1.0, 2.0], [2.0, 1.0]]}
    name = client.post("/v1/grad", json=call).json()["program"]
    answer = client.post(f"/v1/programs/{name}", json={"args": [[1.0], [2.0]]})
    assert answer.status_code == 422
    assert "float64[2]" in answer.json()["detail"]
    assert client.post("/v1/programs/prg_" + "0" * 32, json={"args": []}).status_code == 404


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_linked_to_the_source(client: httpx.Client, stage: str) -> None:
    call = {"function": SOURCE, "args": [[1.0, 2.0], [2.0, 1.0]]}
    name = client.post("/v1/grad", json=call).json()["program"]
    answer = client.get(f"/v1/programs/{name}/ir/{stage}")
    document = answer.json()
    lines = {line for mapped in document["lines"] for line in mapped["source"]}
    assert {2, 3} <= lines or (stage == "hlo" and lines)
    assert {mapped["role"] for mapped in document["lines"]} <= {"primal", "tangent", "cotangent"}
    assert len(document["text"].splitlines()) >= max(mapped["n"] for mapped in document["lines"])
    held = client.get(answer.request.url, headers={"if-none-match": answer.headers["etag"]})
    assert held.status_code == 304


def test_an_unknown_stage_names_the_stages(client: httpx.Client) -> None:
    answer = client.get("/v1/programs/prg_" + "0" * 32 + "/ir/assembly")
    assert answer.status_code == 404
    assert all(stage in answer.json()["hint"] for stage in STAGES)


def test_operations_answer(client: httpx.Client) -> None:
    (device,) = client.get("/v1/devices").json()["data"]
    assert device["id"] == "cpu:0"
    assert client.get("/health/live").json() == {"status": "live"}
    ready = client.get("/health/ready").json()
    assert ready["status"] == "ready"
    assert ready["pool"]["sandbox"]["level"] in {"full", "partial", "rlimits", "none"}
    assert "gradserve_calls_total" in client.get("/metrics").text
    names = {entry["name"] for entry in client.get("/v1/language").json()["data"]}
    assert len(names) > 500
    assert client.get("/docs").headers["content-security-policy"].startswith("default-src 'none'")


def test_answers_tell_their_timing_and_request_id(client: httpx.Client) -> None:
    call = {"function": "lambda x: x", "args": [1.0]}
    answer = client.post("/v1/evaluate", json=call, headers={"x-request-id": "mine-7"})
    assert answer.headers["x-request-id"] == "mine-7"
    assert "execute;dur=" in answer.headers["server-timing"]
    made = client.post("/v1/evaluate", json=call, headers={"x-request-id": "no good"})
    assert made.headers["x-request-id"] not in ("", "no good")


def test_a_server_with_keys_answers_those_who_hold_one(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server({"GRADSERVE_API_KEYS": '["one", "another"]'})
    call: dict[str, Any] = {"function": "lambda x: x", "args": [1.0]}
    for key, status in ((None, 401), ("wrong", 401), ("another", 200)):
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        answer = httpx.post(server.url + "/v1/evaluate", json=call, headers=headers)
        assert answer.status_code == status
    assert httpx.get(server.url + "/health/live").status_code == 200
    assert httpx.get(server.url + "/metrics").status_code == 401


def test_what_the_server_failed_at_is_in_its_log(
    server: ServerProcess, client: httpx.Client
) -> None:
    source = "lambda x: lax.fori_loop(0, 10**9, lambda i, a: jnp.sin(a), x)"
    call = {"function": source, "args": [0.5], "timeout_s": 0.1}
    for mark, status in (("failed-1", 504), ("refused-1", 422)):
        body = call if status == 504 else {**call, "function": "x +"}
        answer = client.post("/v1/evaluate", json=body, headers={"x-request-id": mark})
        assert answer.status_code == status
    lines = [line for line in server.log.read_text().splitlines() if '"request":' in line]
    said = [json.loads(line) for line in lines]
    (failed,) = [each for each in said if each["request"] == "failed-1"]
    assert (failed["path"], failed["status"], failed["level"]) == ("/v1/evaluate", 504, "warning")
    assert "refused-1" not in {each["request"] for each in said}
