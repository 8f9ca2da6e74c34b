"""Sparse kernels, chosen: without the C++ kernels a server answers alike, by other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from app.sparse.kernels import build
from tests.case_requests import corpus, load_cases
from tests.serving import ServerProcess
from tests.test_sparse_cases import ask

Start = Callable[..., ServerProcess]
OPERATIONS = ("matvec", "rmatvec", "matmat", "grad_data", "grad_dense", "pagerank")
MATRIX = {"layout": "coo", "shape": [2, 3], "row": [1, 0, 1], "col": [0, 2, 0]}
BODY = {
    "function": "lambda A, x: jnp.sum((A @ x)**2)",
    "args": [{**MATRIX, "values": [1.0, 2.0, 4.0]}, [1.0, 2.0, 3.0]],
}


def grad(server: ServerProcess) -> tuple[dict[str, Any], str]:
    """The answer, and the compiled program's text."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        answer = client.post("/v1/grad", json=BODY).json()
        text = client.get(f"/v1/programs/{answer['program']}/ir/hlo").text
    return answer, text


def test_the_setting_chooses_the_kernels(start_server: Start, tmp_path: Path) -> None:
    data = tmp_path / "data"
    answers = []
    for kernels in ("native", "portable", "auto"):
        if kernels == "native" and build.ensure() is None:
            pytest.skip("no C++ compiler here")
        server = start_server({"GRADSERVE_SPARSE_KERNELS": kernels}, data=data)
        answer, text = grad(server)
        answers.append(answer)
        assert ("gradserve_csr" in text) == (kernels != "portable")
        if kernels == "portable":
            cases = {case["op"]["t"]: case for case in load_cases("sparse")}
            with httpx.Client(base_url=server.url, timeout=60) as client:
                for name in OPERATIONS:
                    met, why = corpus.compare_case(cases[name], ask(client, cases[name]))
                    assert met, f"{name}: {why}"
        server.stop()
    for answer in answers:
        np.testing.assert_allclose(answer["result"]["values"], [10.0, 36.0, 10.0])
    # Neither loads what the other compiled, though they share a store.
    assert [answer["cache"] for answer in answers] == ["compiled", "compiled", "store"]
