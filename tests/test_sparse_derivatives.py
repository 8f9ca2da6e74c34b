"""Sparse Jacobians and Hessians over HTTP: right entries, in the pattern detected or given."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

from tests.case_requests import answer, case_to_body, corpus, load_cases
from tests.sparse.matrices import dense_of_wire

CASES = [c for c in load_cases("jacobian") if c["op"]["t"] == "sparse_jacobian"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_cases(client: httpx.Client, case: dict[str, Any]) -> None:
    verb, body = case_to_body(case)
    reply = client.post(f"/v1/{verb}", json=body)
    assert reply.status_code == 200, reply.text
    got = without_zeros(answer(verb, reply.json()["result"]), case)
    met, why = corpus.compare_case(case, got)
    assert met, why


def without_zeros(got: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """A pattern holds for every point; the cases list the entries that are not 0 at theirs."""
    if case["op"].get("all"):
        return got
    kept = np.asarray(got["val"]) != 0
    return got | {name: np.asarray(got[name])[kept] for name in ("row", "col", "val")}


def test_a_banded_jacobian_has_its_closed_form(client: httpx.Client) -> None:
    x = np.linspace(0.5, 2.0, 400)
    body = {
        "function": "lambda x, a: a * x**2 + jnp.roll(x, 1)",
        "args": [x.tolist(), 3.0],
        "sparse": True,
        "output": {"layout": "coo"},
    }
    result = client.post("/v1/jacobian", json=body).json()["result"]
    wanted = np.diag(6 * x) + np.roll(np.eye(400), -1, axis=1)
    np.testing.assert_allclose(dense_of_wire(result), wanted, rtol=1e-12)
    assert len(result["values"]) == 800


def test_a_hessian_of_a_chain_is_tridiagonal(client: httpx.Client) -> None:
    x = np.linspace(-1.0, 1.0, 300)
    body = {
        "function": "lambda x: jnp.sum((x[1:] - x[:-1])**2 / 2 + jnp.cos(x[:-1]))",
        "args": [x.tolist()],
        "sparse": True,
        "output": {"layout": "coo"},
    }
    result = client.post("/v1/hessian", json=body).json()["result"]
    ends = np.r_[1.0, np.full(298, 2.0), 1.0]
    curve = np.r_[np.cos(x[:-1]), 0.0]
    wanted = np.diag(ends - curve) - np.eye(300, k=1) - np.eye(300, k=-1)
    np.testing.assert_allclose(dense_of_wire(result), wanted, rtol=1e-12, atol=1e-14)
    assert len(result["values"]) <= 900


def test_a_given_pattern_is_used(client: httpx.Client) -> None:
    body = {
        "function": "lambda x: x**3",
        "args": [[1.0, 2.0, 3.0]],
        "sparse": {"layout": "coo", "row": [0, 1, 2], "col": [0, 1, 2]},
        "output": {"layout": "coo"},
    }
    result = client.post("/v1/jacobian", json=body).json()["result"]
    np.testing.assert_allclose(dense_of_wire(result), np.diag([3.0, 12.0, 27.0]))


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"sparse": {"layout": "coo", "row": [0], "col": [9]}}, "/sparse/col/0"),
        ({"sparse": {"row": [0], "col": [0], "shape": [2, 2]}}, "/sparse"),
        ({"sparse": {"row": "x", "col": [0]}}, "/sparse/row"),
        ({"sparse": {"rows": [0]}}, "/sparse"),
        ({"sparse": True, "args": [[[1.0], [2.0, 3.0]]]}, "/args/0/1"),
        ({"sparse": True, "args": [{"a": 1.0, "b": 2.0}], "function": "lambda x: x['a']"}, "/wrt"),
    ],
)
def test_refusals_point_at_the_fault(
    client: httpx.Client, fields: dict[str, Any], pointer: str
) -> None:
    body = {"function": "lambda x: x**3", "args": [[1.0, 2.0, 3.0]], **fields}
    reply = client.post("/v1/jacobian", json=body)
    assert reply.status_code == 422, reply.text
    assert reply.json()["pointer"] == pointer


def test_a_gradient_in_a_matrix_has_as_many_values_as_it_came_with(client: httpx.Client) -> None:
    matrix = {"layout": "csr", "shape": [2, 2], "indptr": [0, 1, 2], "indices": [0, 1]}
    body = {"function": "lambda M: jnp.sum(M**2)", "args": [{**matrix, "values": [3.0, 4.0]}]}
    result = client.post("/v1/grad", json=body).json()["result"]
    assert result["values"] == [6.0, 8.0]
