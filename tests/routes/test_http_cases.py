"""The HTTP cases of the corpus, each sent as it says and judged by what must hold of the answer."""

from __future__ import annotations

import gzip
import json
import random
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.data.cases import corpus
from tests.serving import ServerProcess

FILES = Path(corpus.__file__).parent
CASES = [case for case in corpus.load(FILES / "cases.jsonl") if case["kind"] == "http"]
BODY_LIMIT = 256 << 20


@dataclass
class Reply:
    """A status (or "closed"), lower-case headers, the body, and the seconds it took."""

    status: int | str
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    def value(self) -> Any:
        return corpus.dec(plain(json.loads(self.body)["result"]))


def plain(document: Any) -> Any:
    """The API's complex numbers in the corpus's own form; everything else as it is."""
    if isinstance(document, dict) and str(document.get("dtype", "")).startswith("complex"):
        pairs = zip(document["data"][::2], document["data"][1::2], strict=True)
        return [{"re": re, "im": im} for re, im in pairs]
    return document


def arguments(request: dict[str, Any]) -> str:
    """The text of ``args``."""
    raw = request.get("args_raw", "[]")
    if isinstance(raw, str):
        document = raw
    elif "repeat2" in raw:
        left, right, count = raw["repeat2"]
        document = left * count + right * count
    elif "random_floats" in raw:
        numbers = random.Random(0)
        document = json.dumps([[numbers.random() for _ in range(raw["random_floats"])]])
    else:
        document = json.dumps([raw["array"]])
    return typed_shorthand(document)


def typed_shorthand(text: str) -> str:
    """``{"int64": [..]}`` in the corpus is ``{"dtype": "int64", "data": [..]}`` in the API."""
    for name in ("int64", "float32"):
        text = text.replace(f'{{"{name}":', f'{{"dtype":"{name}","data":')
    return text


def source(case: dict[str, Any]) -> str:
    text = case["function"]
    if case["id"] == "src-deep-parens":
        text = text.replace("(((x)))", "(" * 5000 + "x" + ")" * 5000)
    return text


def body_of(case: dict[str, Any]) -> bytes:
    request = case["request"]
    if "body" in request:
        return request["body"].encode()
    text = f'{{"function": {json.dumps(source(case))}, "args": {arguments(request)}}}'
    body = text.encode(request.get("encode", "utf-8"))
    body = bytes.fromhex(request.get("prefix_hex", "")) + body
    return gzip.compress(body) if request.get("gzip") else body


def send(server: ServerProcess, case: dict[str, Any]) -> Reply:
    request = case["request"]
    target = {"health": "/health/live", "job": "/v1/runs/unknown"}.get(
        request.get("target", ""), f"/v1/{request['call']}"
    )
    headers = {"content-type": request.get("content_type", "application/json")}
    for name, value in request.get("headers", {}).items():
        headers[name] = value if isinstance(value, str) else "".join(repeated(value["repeat"]))
    if request.get("gzip"):
        headers["content-encoding"] = "gzip"
    content = body_of(case)
    if "file" in request:
        content = (FILES / request["file"]).read_bytes()
    method = request.get("method", "POST")
    started = time.perf_counter()
    try:
        answer = httpx.request(
            method,
            server.url + target + request.get("path_suffix", ""),
            content=None if method in ("GET", "HEAD") else content,
            headers=headers,
            timeout=120,
        )
    except httpx.TransportError:
        return Reply("closed", {}, b"", time.perf_counter() - started)
    seconds = time.perf_counter() - started
    return Reply(answer.status_code, answer.headers, answer.content, seconds)


def repeated(parts: list[Any]) -> list[str]:
    start, piece, count, end = parts
    return [start, piece * count, end]


def judge(reply: Reply, wanted: dict[str, Any], case: dict[str, Any]) -> str:
    """Empty where the answer is as wanted, else what is wrong."""
    if "any_of" in wanted:
        said = [judge(reply, each, case) for each in wanted["any_of"]]
        return "" if "" in said else " | ".join(said)
    if reply.status not in wanted.get("status", [reply.status]):
        return f"status {reply.status} {reply.body[:200]!r}"
    if reply.status in wanted.get("never", ()):
        return f"status {reply.status}"
    if reply.seconds > wanted.get("max_seconds", 60):
        return f"{reply.seconds:.1f} s"
    if wanted.get("empty_body") and reply.body:
        return "a body"
    for name in wanted.get("headers", ()):
        if name not in reply.headers:
            return f"no header {name}"
    if wanted.get("problem_body"):
        problem = json.loads(reply.body)
        if not {"type", "title", "status", "detail"} <= set(problem):
            return "no problem body"
        if reply.headers["content-type"] != "application/problem+json":
            return reply.headers["content-type"]
    mentions = wanted.get("message_mentions")
    if mentions and not any(word in reply.body.decode() for word in mentions):
        return f"none of {mentions} in {reply.body[:300]!r}"
    if wanted.get("value", "any") != "any":
        got = reply.value()
        if np.ndim(got) == 1 and np.ndim(corpus.dec(wanted["value"])) == 0:
            (got,) = got
        return corpus.compare(wanted["value"], got, case["rtol"])[1]
    return ""


SPECIAL = {
    "http-chunked-oversize",
    "http-slow-body",
    "http-keepalive-after-4xx",
    "http-concurrent-shapes",
    "http-disconnect",
}


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["id"] not in SPECIAL], ids=lambda case: case["id"]
)
def test_case(server: ServerProcess, case: dict[str, Any]) -> None:
    assert judge(send(server, case), case["expect"]["$http"], case) == ""


def test_every_case_is_here() -> None:
    assert {case["id"] for case in CASES} >= SPECIAL
    assert len(CASES) == 47


def test_an_endless_chunked_body_is_refused(server: ServerProcess) -> None:
    piece = b" " * (1 << 20)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(
            b"POST /v1/evaluate HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        try:
            for _ in range((BODY_LIMIT >> 20) + 2):
                connection.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
        except OSError:
            pass  # refused while we were still talking
        connection.settimeout(20)
        try:
            answer = connection.recv(65536)
        except OSError:
            answer = b""
    assert answer == b"" or answer.split()[1] == b"413"
    assert httpx.get(server.url + "/health/live").status_code == 200


def test_a_slow_body_is_given_up(start_server: Any) -> None:
    server = start_server({"GRADSERVE_BODY_S": "1"})
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(
            b"POST /v1/evaluate HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{"
        )
        answer = connection.recv(65536)
    assert answer == b"" or answer.split()[1] == b"408"


def test_a_connection_serves_on_after_a_bad_body(server: ServerProcess) -> None:
    good = {"function": "lambda x: x", "args": [1.0]}
    with httpx.Client() as client:
        bad = client.post(server.url + "/v1/evaluate", content=b"[" + b"1," * 500_000 + b"x]")
        assert bad.status_code == 422
        assert client.post(server.url + "/v1/evaluate", json=good).status_code == 200


def test_many_shapes_at_once(server: ServerProcess) -> None:
    def call(n: int) -> None:
        body = {
            "function": "def f(x):\n    return jnp.sum(x ** 2)",
            "args": [list(range(1, n + 1))],
        }
        answer = httpx.post(server.url + "/v1/evaluate", json=body, timeout=120)
        assert answer.status_code in (200, 429, 503)
        if answer.status_code == 200:
            assert answer.json()["result"] == n * (n + 1) * (2 * n + 1) / 6

    with ThreadPoolExecutor(50) as threads:
        list(threads.map(call, range(1, 51)))


def test_a_client_that_leaves_holds_nothing_up(server: ServerProcess) -> None:
    case = next(case for case in CASES if case["id"] == "http-disconnect")
    before = httpx.get(server.url + "/v1/devices").json()["data"]
    body = {"function": case["function"], "args": [np.eye(500).tolist()]}
    with pytest.raises(httpx.TimeoutException):
        httpx.post(server.url + "/v1/evaluate", json=body, timeout=1.0)
    good = {"function": "lambda x: x", "args": [1.0]}
    assert httpx.post(server.url + "/v1/evaluate", json=good, timeout=5).status_code == 200
    assert len(httpx.get(server.url + "/v1/devices").json()["data"]) == len(before)
