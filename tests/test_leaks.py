"""A thousand mixed requests with random disconnects leave nothing behind: no descriptor, no
process, no shared memory, no growing heap."""

from __future__ import annotations

import json
import os
import random
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np

from tests.serving import ServerProcess

REQUESTS = 1000
MIB = 1 << 20


def bodies(chance: random.Random) -> tuple[str, bytes, str]:
    """A path, a body and its media type: small and large, right and wrong, JSON and msgpack."""
    kind = chance.randrange(8)
    power = chance.randrange(2, 6)
    numbers = [chance.random() for _ in range(chance.choice([1, 10, 1000]))]
    call: dict[str, Any] = {"function": f"lambda x: jnp.sum(x**{power})", "args": [numbers]}
    if kind == 0:
        return "/v1/grad", b'{"function": "lambda x: x +', "application/json"
    if kind == 1:
        return "/v1/grad", json.dumps(call | {"function": "lambda x: open(x)"}).encode(), "text/x"
    if kind == 2:
        array = np.arange(100_000, dtype=np.float64)
        call["args"] = [{"dtype": "float64", "shape": [100_000], "data": array.tobytes()}]
        return "/v1/value_and_grad", msgpack.packb(call), "application/msgpack"
    if kind == 3:
        return "/v1/arrays", json.dumps(numbers).encode(), "application/json"
    if kind == 4:
        call["args"] = [[chance.random() for _ in range(20_000)]]
    verb = chance.choice(["evaluate", "grad", "hvp" if kind == 5 else "value_and_grad"])
    if verb == "hvp":
        call["vectors"] = numbers
    return f"/v1/{verb}", json.dumps(call).encode(), "application/json"


def request(server: ServerProcess, seed: int) -> int:
    """Send one request over a raw socket; a third of them leave before the answer."""
    chance = random.Random(seed)
    path, body, media = bodies(chance)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Type: {media}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        cut = chance.random()
        sent = body[: int(len(body) * chance.random())] if cut < 0.15 else body
        connection.sendall(head.encode() + sent)
        if cut < 0.33:
            return 0
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return int(answer.split()[1])


def held(server: ServerProcess) -> dict[str, float]:
    """What the server and its children hold now."""
    family = [server.pid]
    for pid in family:
        for task in Path(f"/proc/{pid}/task").iterdir():
            family += map(int, (task / "children").read_text().split())
    descriptors = len(os.listdir(f"/proc/{server.pid}/fd"))
    maps = Path(f"/proc/{server.pid}/maps").read_text()
    pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
    return {
        "processes": len(family),
        "descriptors": descriptors,
        "memfds": maps.count("memfd:"),
        "resident": pages * 4096,
    }


def storm(server: ServerProcess, seeds: range) -> list[int]:
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda seed: request(server, seed), seeds))


def test_nothing_is_left_behind(start_server: Any) -> None:
    server = start_server()
    storm(server, range(REQUESTS // 2))
    before = held(server)
    statuses = storm(server, range(REQUESTS // 2, REQUESTS))
    assert set(statuses) <= {0, 200, 201, 422, 429}
    assert statuses.count(200) > REQUESTS // 8
    httpx.get(server.url + "/health/live")
    after = held(server)
    assert after["processes"] <= before["processes"]
    assert after["descriptors"] <= before["descriptors"] + 4
    assert after["memfds"] <= before["memfds"] + 2
    assert after["resident"] < before["resident"] + 64 * MIB
