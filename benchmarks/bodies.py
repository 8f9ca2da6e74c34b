"""The requests that benchmarks send: the Rosenbrock gradient in JSON and msgpack, to each server.

The right values come from the closed form in NumPy, and are compared before anything is timed.
"""

from __future__ import annotations

import json
from typing import Any

import msgpack
import numpy as np

from benchmarks.client import Connection, check, request

ROSENBROCK = "def f(x):\n    return jnp.sum(100.0 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"
JSON = {"Content-Type": "application/json"}
MSGPACK = {"Content-Type": "application/msgpack", "Accept": "application/msgpack"}


def point(n: int) -> np.ndarray:
    """n numbers between -1 and 1, the same ones every time."""
    return np.random.default_rng(n).uniform(-1.0, 1.0, n)


def rosenbrock_gradient(x: np.ndarray) -> np.ndarray:
    """The closed form of the gradient."""
    gradient = np.zeros_like(x)
    inner = x[1:] - x[:-1] ** 2
    gradient[:-1] = -400.0 * x[:-1] * inner - 2.0 * (1.0 - x[:-1])
    gradient[1:] += 200.0 * inner
    return gradient


def dense(x: np.ndarray) -> dict[str, Any]:
    """A typed array for msgpack."""
    return {"dtype": x.dtype.name, "shape": list(x.shape), "data": x.tobytes()}


def pack(body: Any) -> bytes:
    """The msgpack of a body."""
    packed = msgpack.packb(body)
    assert packed is not None
    return packed


def json_call(n: int) -> bytes:
    """POST /v1/grad as a newcomer sends it."""
    body = {"function": ROSENBROCK, "args": [point(n).tolist()]}
    return request("POST", "/v1/grad", json.dumps(body).encode(), JSON)


def msgpack_call(n: int) -> bytes:
    """POST /v1/grad on the fast path."""
    body = {"function": ROSENBROCK, "args": [dense(point(n))]}
    return request("POST", "/v1/grad", pack(body), MSGPACK)


def program_call(n: int, program: str) -> bytes:
    """POST /v1/programs/{id}: the arguments alone, in JSON."""
    body = {"args": [point(n).tolist()]}
    return request("POST", f"/v1/programs/{program}", json.dumps(body).encode(), JSON)


def peer_call(n: int) -> bytes:
    """The same gradient asked of the 40-line service."""
    return request("POST", "/grad", json.dumps({"x": point(n).tolist()}).encode(), JSON)


def verify(connection: Connection, prepared: bytes, n: int) -> dict[str, Any]:
    """Send once and compare with the closed form; the body of the answer."""
    response = check(connection.call(prepared))
    packed = "msgpack" in response.header("content-type")
    body = msgpack.unpackb(response.body) if packed else json.loads(response.body)
    result = body["gradient"] if "gradient" in body else body["result"]
    if isinstance(result, dict):
        result = np.frombuffer(result["data"], result["dtype"]).reshape(result["shape"])
    right = rosenbrock_gradient(point(n))
    np.testing.assert_allclose(np.asarray(result), right, rtol=1e-12, atol=1e-12)
    return body
