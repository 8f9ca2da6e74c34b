"""No matrix that a client sends ends a worker: malformed ones over HTTP, and a bystander served."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np

from app.core.values import SparseValue
from tests.sparse.malformed import OVER_HTTP, mangled

NAMES = {"O": "object", "U": "str", "M": "datetime64"}


def document(value: SparseValue) -> dict[str, Any]:
    """The value as a client would write it, whatever is wrong with it."""
    parts = {name: part_document(part) for name, part in value.parts.items()}
    return {"layout": value.layout, "shape": list(value.shape), **parts}


def part_document(part: np.ndarray) -> Any:
    if part.dtype.kind in NAMES:
        return {"dtype": NAMES[part.dtype.kind], "shape": list(part.shape), "data": [0] * part.size}
    flat = part.ravel()
    if part.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1)
    return {"dtype": part.dtype.name, "shape": list(part.shape), "data": flat.tolist()}


def restarts(client: httpx.Client) -> int:
    workers = client.get("/health/ready").json()["pool"]["workers"]
    return sum(worker["restarts"] for worker in workers)


def test_malformed_matrices_over_http(client: httpx.Client) -> None:
    rng = np.random.default_rng(11)
    before, refused = restarts(client), 0
    for number in range(OVER_HTTP):
        function = "lambda A: jnp.sum(A)"
        body = {"function": function, "args": [document(mangled(rng))]}
        reply = client.post("/v1/evaluate", json=body)
        assert reply.status_code in (200, 422), f"{number}: {reply.text}"
        if reply.status_code == 422:
            assert reply.json()["pointer"], reply.text
            refused += 1
    assert refused > 0.3 * OVER_HTTP
    assert restarts(client) == before
    sound = {"layout": "coo", "shape": [2, 2], "row": [0, 1], "col": [1, 0], "values": [1.0, 2.0]}
    body = {"function": "lambda A, x: A @ x", "args": [sound, [3.0, 4.0]]}
    assert client.post("/v1/evaluate", json=body).json()["result"] == [4.0, 6.0]
