"""Verbs over HTTP: numbers against closed forms, and refusals that say where and what instead."""

from __future__ import annotations

import http.client
import math
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.serving import ServerProcess


@pytest.fixture(scope="module")
def api(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


def result(api: httpx.Client, verb: str, **body: Any) -> Any:
    """The result of a call that must be answered."""
    answer = api.post(f"/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def test_programs_of_one_text_keep_their_own_arguments_and_tree(api: httpx.Client) -> None:
    function = "lambda x, y: sin(x) * y * 1.25"
    slope = 1.25 * math.sin(1)
    bodies: list[tuple[dict[str, Any], Any]] = [
        ({"args": {"y": 2, "x": 1}, "wrt": [1]}, [slope]),
        ({"args": [1, 2], "wrt": [1]}, [slope]),
        ({"args": [1, 2], "wrt": "y"}, slope),
        ({"args": {"x": 1, "y": 2}, "wrt": 1}, slope),
    ]
    for body, wanted in bodies:
        assert result(api, "grad", function=function, **body) == pytest.approx(wanted)


@pytest.mark.parametrize("path", ["/health/ready", "/v1/devices", "/openapi.json", "/v1/nothing"])
def test_head_is_get_without_a_body_and_keeps_the_connection(
    server: ServerProcess, path: str
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        replies = []
        for method in ("HEAD", "HEAD", "GET"):
            connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
            reply = http.client.HTTPResponse(connection, method=method)
            reply.begin()
            replies.append((reply.status, len(reply.read()), reply.headers["content-type"]))
        assert replies[0] == replies[1]
        assert replies[0][::2] == replies[2][::2]
        assert (replies[0][1], replies[2][1] > 0) == (0, True)


def test_limits_of_sparse_arguments_point_into_the_body(api: httpx.Client) -> None:
    matrix = {"layout": "coo", "shape": [10**9, 10**9], "row": [5], "col": [7], "values": [1.0]}
    answer = api.post("/v1/evaluate", json={"function": "lambda A: A * 2", "args": [matrix]})
    assert answer.status_code == 422
    assert answer.json()["pointer"] == "/args/0/shape/0"


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        ("application/msgpack", "application/msgpack"),
        ("application/json, application/msgpack;q=0", "application/json"),
        ("application/msgpack; q=0.0", "application/json"),
        ("application/msgpack;q=0.5", "application/msgpack"),
        ("*/*", "application/json"),
    ],
)
def test_a_weight_of_zero_in_accept_refuses(api: httpx.Client, accept: str, answered: str) -> None:
    body = {"function": "x + 1", "args": [1]}
    answer = api.post("/v1/evaluate", json=body, headers={"accept": accept})
    assert answer.headers["content-type"] == answered


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/grad"), ("GET", "/v1/nothing")])
def test_wrong_methods_and_addresses_say_what_to_do(
    api: httpx.Client, method: str, path: str
) -> None:
    problem = api.request(method, path).json()
    assert problem["status"] in (404, 405)
    assert "POST" in problem["hint"] or "/docs" in problem["hint"]


def test_pages_of_problems_are_html(api: httpx.Client) -> None:
    page = api.get("/problems/refused-source").text
    assert "<code>line</code>" in page
    assert "``" not in page


def test_differences_that_are_not_numbers_leave_no_error_of_zero(api: httpx.Client) -> None:
    said = result(api, "check_grads", function="lambda x: log(x)", args=[1e-10])
    assert said["max_rel_error"] == "NaN"
    assert said["passed"] is False


@pytest.mark.parametrize(
    "function",
    [
        {"id": "fn_" + "0" * 32, "source": "x"},
        {"id": 3},
        {"source": "x", "other": 1},
        {"source": "x", "entry": 3},
        {"source": None},
    ],
)
def test_a_function_is_named_in_one_way(api: httpx.Client, function: dict[str, Any]) -> None:
    answer = api.post("/v1/grad", json={"function": function, "args": [1.0]})
    assert answer.status_code == 422
    assert answer.json()["pointer"] == "/function"
    assert answer.json()["hint"]


def test_abstract_eval_takes_shapes_in_place_of_values(api: httpx.Client) -> None:
    args = [{"shape": [10**4, 3], "dtype": "float32"}, {"shape": [3], "dtype": "float64"}]
    said = result(api, "abstract_eval", function="lambda A, x: A @ x", args=args)
    assert said == {"dtype": "float64", "shape": [10**4]}
