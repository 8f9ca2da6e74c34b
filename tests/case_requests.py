"""Turns a case of ``tests/data/cases`` into a call of the API, and its answer into numpy.

Shared by the tests that run the cases in process and those that run them over HTTP.
"""

from __future__ import annotations

import base64
import importlib.util
from pathlib import Path
from typing import Any

import httpx
import numpy as np

CASES = Path(__file__).parent / "data" / "cases"
DENSE_KINDS = ("grad", "value", "jacobian", "hessian", "vmap")
VERBS = {
    "value": "evaluate",
    "grad": "grad",
    "grad_n": "grad",
    "jacobian": "jacobian",
    "sparse_jacobian": "jacobian",
    "hessian": "hessian",
    "hvp": "hvp",
    "jvp": "jvp",
    "vjp": "vjp",
}


def _load_corpus() -> Any:
    spec = importlib.util.spec_from_file_location("case_corpus", CASES / "corpus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


corpus = _load_corpus()


def load_cases(*kinds: str) -> list[dict[str, Any]]:
    """Every case of these kinds."""
    cases = corpus.load(CASES / "cases.jsonl")
    return [case for case in cases if case["kind"] in kinds]


def is_dense(case: dict[str, Any]) -> bool:
    """Whether the case asks for nothing sparse."""
    return case["op"]["t"] != "sparse_jacobian"


def case_to_body(case: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The verb and the JSON body that ask what the case asks."""
    op = dict(case["op"])
    body: dict[str, Any] = {
        "function": case["function"],
        "args": [value(argument) for argument in case["args"]],
        "dtype": case["dtype"],
    }
    if op["t"] == "vmap":
        body["vmap"] = {
            "in_axes": op.get("in_axes", 0),
            "out_axes": op.get("out_axes", 0),
        }
        op = op.get("inner", {"t": "value"})
    body |= _fields(op)
    if op["t"] == "grad_n":
        body["function"] = _nested_gradient(case["function"], op["n"])
    return VERBS[op["t"]], body


def _fields(op: dict[str, Any]) -> dict[str, Any]:
    """The verb's own fields."""
    fields: dict[str, Any] = {}
    if "argnums" in op:
        fields["wrt"] = op["argnums"]
    if "holomorphic" in op:
        fields["holomorphic"] = op["holomorphic"]
    if "tangent" in op:
        fields["tangents"] = [value(tangent) for tangent in op["tangent"]]
    if "cotangent" in op:
        fields["cotangents"] = value(op["cotangent"])
    if "v" in op:
        fields["vectors"] = value(op["v"])
    if op["t"] == "sparse_jacobian":
        fields |= {"sparse": True, "output": {"layout": "coo"}}
    return fields


def _nested_gradient(source: str, order: int) -> str:
    """Source whose gradient is the ``order``-th derivative of ``f``."""
    lines = [source]
    for level in range(order - 1):
        inner = f"d{level}" if level else "f"
        lines.append(f"def d{level + 1}(x):\n    return jax.grad({inner})(x)")
    return "\n".join(lines)


def value(encoded: Any) -> Any:
    """A value of the corpus as the API takes it."""
    if isinstance(encoded, dict) and set(encoded) == {"re", "im"}:
        return {"dtype": "complex128", "shape": [], "data": [encoded["re"], encoded["im"]]}
    if isinstance(encoded, dict) and set(encoded) != {"dtype", "shape", "data"}:
        return {name: value(branch) for name, branch in encoded.items()}
    if isinstance(encoded, list) and _is_complex(encoded):
        array = np.asarray(corpus.dec(encoded))
        parts = np.stack([array.real, array.imag], -1).ravel().tolist()
        return {"dtype": "complex128", "shape": list(array.shape), "data": parts}
    return encoded


def argument(encoded: Any) -> Any:
    """As ``value``, sparse matrices among them."""
    if not (isinstance(encoded, dict) and "format" in encoded):
        return value(encoded)
    parts = {name: part for name, part in encoded.items() if name not in ("format", "data")}
    return {**parts, "layout": encoded["format"], "values": value(encoded["data"])}


def asked(client: httpx.Client, verb: str, body: dict[str, Any]) -> Any:
    """The whole answer to a call, or an exception where it was refused (422 and nothing else)."""
    reply = client.post(f"/v1/{verb}", json=body)
    if reply.status_code == 422:
        return RuntimeError(reply.text)
    assert reply.status_code == 200, reply.text
    return reply.json()


def _is_complex(encoded: Any) -> bool:
    while isinstance(encoded, list) and encoded:
        encoded = encoded[0]
    return isinstance(encoded, dict) and set(encoded) == {"re", "im"}


def answer(verb: str, result: Any) -> Any:
    """The ``result`` of an answer as ``corpus.compare_case`` takes it."""
    if verb == "jvp":
        return decode(result["tangent"])
    if verb == "vjp":
        cotangents = [decode(each) for each in result["cotangents"]]
        return cotangents[0] if len(cotangents) == 1 else cotangents
    return decode(result)


def decode(document: Any) -> Any:
    """A JSON value of the API as numpy arrays, or a list of them where they do not stack."""
    if isinstance(document, dict) and "layout" in document:
        return {
            "row": decode(document["row"]),
            "col": decode(document["col"]),
            "val": decode(document["values"]),
            "shape": document["shape"],
        }
    if isinstance(document, dict) and "dtype" in document:
        return _typed(document)
    if isinstance(document, dict):
        return {name: decode(branch) for name, branch in document.items()}
    if isinstance(document, list) and any(isinstance(each, dict) for each in document):
        parts = [decode(each) for each in document]
        same = len({np.shape(part) for part in parts}) == 1
        return np.array(parts) if same else parts
    return corpus.dec(document)


def _typed(document: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(document["dtype"])
    if "base64" in document:
        raw = base64.b64decode(document["base64"])
        return np.frombuffer(raw, dtype).reshape(document["shape"])
    flat = np.asarray(corpus.dec(document["data"])).ravel()
    if dtype.kind == "c":
        flat = np.ascontiguousarray(flat, np.float64).view(np.complex128)
    return flat.astype(dtype).reshape(document["shape"])
