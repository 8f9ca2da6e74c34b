"""Every sparse case with a right value from elsewhere, asked over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import scipy.sparse as sp

from tests.case_requests import CASES, corpus, decode, load_cases, value
from tests.serving import ServerProcess

SOURCES = {
    "todense": "lambda a: a.todense()",
    "matvec": "lambda a, x: a @ x",
    "rmatvec": "lambda a, x: a.T @ x",
    "matmat": "lambda a, b: (a @ b).todense()",
    "eigvalsh": "lambda a: jnp.linalg.eigvalsh(a.todense())",
}
PAGERANK = """
def rank(a, dangling):
    r = jnp.ones(a.shape[0]) / a.shape[0]
    return lax.fori_loop(0, 300, lambda i, r: step(r, a, dangling), r)
"""


def argument(encoded: Any) -> Any:
    """An argument of the corpus as the API takes it."""
    if not (isinstance(encoded, dict) and "format" in encoded):
        return value(encoded)
    parts = {name: part for name, part in encoded.items() if name not in ("format", "data")}
    return {**parts, "layout": encoded["format"], "values": value(encoded["data"])}


def dense(document: Any) -> np.ndarray:
    """A sparse or dense value of the API as a dense array."""
    if not (isinstance(document, dict) and "layout" in document):
        return np.asarray(decode(document))
    parts = {name: np.asarray(decode(part)) for name, part in document.items() if name in PARTS}
    shape = tuple(document["shape"])
    if document["layout"] == "coo":
        return sp.coo_matrix((parts["values"], (parts["row"], parts["col"])), shape).toarray()
    kind = sp.csc_matrix if document["layout"] == "csc" else sp.csr_matrix
    return kind((parts["values"], parts["indices"], parts["indptr"]), shape).toarray()


PARTS = {"row", "col", "values", "indices", "indptr"}


def call(client: httpx.Client, verb: str, body: dict[str, Any]) -> Any:
    reply = client.post(f"/v1/{verb}", json=body)
    return reply.json()["result"] if reply.status_code == 200 else RuntimeError(reply.text)


def ask(client: httpx.Client, case: dict[str, Any]) -> Any:
    """What the server says: numpy arrays, or an exception where it refused."""
    op = case["op"]["t"]
    if op == "read_npz":
        return uploaded(client, (CASES / case["args"][0]["file"]).read_bytes())
    args = [argument(each) for each in case["args"]]
    if op == "canonical":
        posted = client.post("/v1/arrays", json=args[0])
        data = client.get(posted.headers["location"] + "/data", params={"layout": "csr"}).json()
        parts = [np.asarray(decode(data[name])) for name in ("values", "indices", "indptr")]
        coo = sp.csr_matrix(tuple(parts), data["shape"]).tocoo()
        return {"row": coo.row, "col": coo.col, "val": coo.data, "shape": coo.shape}
    if op == "grad_data":
        gradient = call(client, "grad", {"function": case["function"], "args": args})
        return gradient if isinstance(gradient, Exception) else dense_values(gradient)
    if op == "grad_dense":
        body = {"function": case["function"], "args": args, "wrt": 1}
        return np.asarray(call(client, "grad", body))
    source = case["function"] + PAGERANK if op == "pagerank" else SOURCES[op]
    result = call(client, "evaluate", {"function": source, "args": args})
    return result if isinstance(result, Exception) else dense(result)


def dense_values(document: dict[str, Any]) -> np.ndarray:
    """The values of a sparse answer, in the order of its entries."""
    return np.asarray(decode(document["values"]))


def uploaded(client: httpx.Client, content: bytes) -> dict[str, Any]:
    posted = client.post("/v1/arrays", content=content)
    data = client.get(posted.headers["location"] + "/data", params={"layout": "dense"}).json()
    return {"shape": np.array(posted.json()["shape"]), "dense": dense(data)}


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=120) as client:
        yield client


@pytest.mark.parametrize("case", load_cases("sparse"), ids=lambda case: case["id"])
def test_case(client: httpx.Client, case: dict[str, Any]) -> None:
    met, why = corpus.compare_case(case, ask(client, case))
    assert met, why
