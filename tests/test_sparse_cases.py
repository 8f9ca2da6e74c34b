"""Every sparse case with a right value from elsewhere, asked over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
import scipy.sparse as sp

from tests.case_requests import CASES, argument, asked, corpus, decode, load_cases
from tests.sparse.matrices import dense_of_wire

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
        gradient = result(client, "grad", {"function": case["function"], "args": args})
        if isinstance(gradient, Exception):
            return gradient
        return np.asarray(decode(gradient["values"]))
    if op == "grad_dense":
        body = {"function": case["function"], "args": args, "wrt": 1}
        return np.asarray(result(client, "grad", body))
    source = case["function"] + PAGERANK if op == "pagerank" else SOURCES[op]
    found = result(client, "evaluate", {"function": source, "args": args})
    return found if isinstance(found, Exception) else dense_of_wire(found)


def result(client: httpx.Client, verb: str, body: dict[str, Any]) -> Any:
    document = asked(client, verb, body)
    return document if isinstance(document, Exception) else document["result"]


def uploaded(client: httpx.Client, content: bytes) -> dict[str, Any]:
    posted = client.post("/v1/arrays", content=content)
    data = client.get(posted.headers["location"] + "/data", params={"layout": "dense"}).json()
    return {"shape": np.array(posted.json()["shape"]), "dense": dense_of_wire(data)}


@pytest.mark.parametrize("case", load_cases("sparse"), ids=lambda case: case["id"])
def test_case(client: httpx.Client, case: dict[str, Any]) -> None:
    met, why = corpus.compare_case(case, ask(client, case))
    assert met, why
