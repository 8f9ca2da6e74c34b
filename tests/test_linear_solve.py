"""linear_solve over HTTP: every case, SciPy's answers, derivatives, outcomes, large systems."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
import scipy.sparse.linalg as spl

from tests.case_requests import argument, corpus, decode, load_cases
from tests.sparse.matrices import laplacian, wire


def solve(client: httpx.Client, A: Any, b: Any, **fields: Any) -> dict[str, Any]:
    reply = client.post("/v1/linear_solve", json={"args": [A, b], **fields})
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.parametrize("case", load_cases("solve"), ids=lambda case: case["id"])
def test_cases(client: httpx.Client, case: dict[str, Any]) -> None:
    A, b = (argument(each) for each in case["args"])
    answer = solve(client, A, b, dtype=case["dtype"])
    got = {"x": np.asarray(decode(answer["result"]["x"])), "success": answer["success"]}
    met, why = corpus.compare_case(case, got)
    assert met, (why, answer["outcome"])


@pytest.mark.parametrize(
    ("method", "preconditioner"),
    [("direct", "none"), ("cg", "jacobi"), ("gmres", "none"), ("bicgstab", "ilu")],
)
def test_every_method_agrees_with_scipy(
    client: httpx.Client, method: str, preconditioner: str
) -> None:
    A = laplacian(12)
    b = np.random.default_rng(0).standard_normal((144, 3))
    fields = {"method": method, "preconditioner": preconditioner, "tol": 1e-10}
    answer = solve(client, wire(A), b.tolist(), **fields)
    assert answer["success"]
    np.testing.assert_allclose(answer["result"]["x"], spl.spsolve(A, b), rtol=1e-6, atol=1e-8)
    assert max(answer["result"]["residual"]) < 1e-8


def test_least_squares_of_a_rectangular_matrix(client: httpx.Client) -> None:
    A = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    for matrix, damp in ((wire(A, "csc"), 0.0), (A.tolist(), 0.5)):
        answer = solve(client, matrix, [1.0, 2.0, 4.0], method="lsmr", damp=damp)
        normal = A.T @ A + damp**2 * np.eye(2)
        x = np.linalg.solve(normal, A.T @ [1.0, 2.0, 4.0])
        np.testing.assert_allclose(answer["result"]["x"], x, rtol=1e-7)
        assert answer["success"]


def test_a_dense_matrix_is_solved_too(client: httpx.Client) -> None:
    answer = solve(client, [[2.0, 1.0], [1.0, 3.0]], [3.0, 4.0])
    np.testing.assert_allclose(answer["result"]["x"], [1.0, 1.0], rtol=1e-14)
    assert answer["success"]


@pytest.mark.parametrize("sparse", [True, False])
def test_a_singular_matrix_is_an_outcome(client: httpx.Client, sparse: bool) -> None:
    A = [[1.0, 2.0], [2.0, 4.0]]
    answer = solve(client, wire(A) if sparse else A, [1.0, 0.0])
    assert not answer["success"]
    assert answer["outcome"]


def test_a_large_system_by_reference(client: httpx.Client) -> None:
    n = 150
    A = laplacian(n)
    b = np.ones(n * n)
    location = client.post("/v1/arrays", json=wire(A)).headers["location"]
    reference = {"ref": location.rsplit("/", 1)[1]}
    for _ in range(2):
        answer = solve(client, reference, b.tolist())
        x = np.asarray(answer["result"]["x"])
        assert np.linalg.norm(A @ x - b) < 1e-9 * np.linalg.norm(b) * n
        assert answer["success"]


@pytest.mark.parametrize(
    ("args", "fields", "pointer"),
    [
        ([wire(np.ones((2, 3))), [1.0, 2.0]], {}, "/args/0"),
        ([wire(np.eye(2)), [1.0, 2.0, 3.0]], {}, "/args/1"),
        ([wire(np.eye(2)), [1.0, 2.0]], {"method": "lu"}, "/method"),
        ([wire(np.eye(2))], {}, "/args"),
        ([wire(np.eye(2)), [1.0, 2.0]], {"damp": 1.0}, "/damp"),
        (
            [wire(np.eye(2)), [1.0, 2.0]],
            {"method": "cg", "preconditioner": "ilu"},
            "/preconditioner",
        ),
        (
            [np.eye(2).tolist(), [1.0, 2.0]],
            {"method": "gmres", "preconditioner": "ilu"},
            "/preconditioner",
        ),
    ],
)
def test_refusals(client: httpx.Client, args: Any, fields: Any, pointer: str) -> None:
    reply = client.post("/v1/linear_solve", json={"args": args, **fields})
    assert reply.status_code == 422, reply.text
    assert reply.json()["pointer"] == pointer
