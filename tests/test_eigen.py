"""eigen over HTTP: sparse and dense matrices, shifts, vmap, outcomes and refusals."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
import scipy.sparse as sp

from tests.sparse.matrices import wire


def eigen(client: httpx.Client, A: Any, **fields: Any) -> dict[str, Any]:
    reply = client.post("/v1/eigen", json={"args": [A], **fields})
    assert reply.status_code == 200, reply.text
    return reply.json()


def line(n: int) -> sp.csr_matrix:
    return sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)).tocsr()


def test_the_smallest_of_a_laplacian(client: httpx.Client) -> None:
    n = 3000
    answer = eigen(client, wire(line(n)), k=3, which="smallest")
    exact = 4 * np.sin(np.arange(1, 4) * np.pi / (2 * (n + 1))) ** 2
    np.testing.assert_allclose(answer["result"]["values"], exact, rtol=1e-6)
    vectors = np.asarray(answer["result"]["vectors"])
    np.testing.assert_allclose(line(n) @ vectors, vectors * exact, atol=1e-10)
    assert answer["success"]
    assert answer["outcome"] == "found"
    assert max(answer["result"]["residual"]) < 1e-12


def test_a_dense_matrix_and_a_shift(client: httpx.Client) -> None:
    A = [[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 9.0]]
    wanted = np.linalg.eigvalsh(A)
    whole = eigen(client, A)["result"]
    np.testing.assert_allclose(whole["values"], wanted, rtol=1e-12)
    nearest = eigen(client, wire(A), k=1, sigma=3.4)["result"]
    np.testing.assert_allclose(nearest["values"], [wanted[1]], rtol=1e-12)


def test_a_general_matrix_has_complex_values(client: httpx.Client) -> None:
    answer = eigen(client, wire([[0.0, -2.0], [2.0, 0.0]]), symmetric=False)
    assert answer["result"]["values"]["dtype"] == "complex128"
    np.testing.assert_allclose(answer["result"]["values"]["data"], [0, 2, 0, -2], atol=1e-14)


def test_many_matrices_by_vmap(client: httpx.Client) -> None:
    many = np.stack([np.diag([1.0, 2.0, 3.0]), np.diag([-5.0, 0.5, 4.0])])
    answer = eigen(client, many.tolist(), k=1, which="largest", vmap={"in_axes": 0})
    np.testing.assert_allclose(answer["result"]["values"], [[3.0], [4.0]])
    assert answer["success"] == [True, True]


def test_not_symmetric_is_an_outcome(client: httpx.Client) -> None:
    answer = eigen(client, wire([[1.0, 2.0], [0.0, 1.0]]), k=1)
    assert not answer["success"]
    assert "symmetric" in answer["outcome"]
    assert answer["result"]["values"] == ["NaN"]


@pytest.mark.parametrize(
    ("args", "fields", "pointer"),
    [
        ([wire(np.ones((2, 3)))], {}, "/args/0"),
        ([[1.0, 2.0]], {}, "/args/0"),
        ([], {}, "/args"),
        ([wire(np.eye(2)), 1.0], {}, "/args/1"),
        ([wire(np.eye(2))], {"k": 3}, "/k"),
        ([wire(np.eye(2))], {"which": "LM"}, "/which"),
        ([wire(np.eye(2))], {"which": "largest", "sigma": 1.0}, "/which"),
    ],
)
def test_refusals(client: httpx.Client, args: Any, fields: Any, pointer: str) -> None:
    reply = client.post("/v1/eigen", json={"args": args, **fields})
    assert reply.status_code == 422, reply.text
    assert reply.json()["pointer"] == pointer
