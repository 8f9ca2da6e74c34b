"""Matrices as results over HTTP, where the client sent a cell more than once."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

from tests.sparse.matrices import LAYOUTS, dense_of_wire

ROW, COL, VALUES = [1, 0, 1], [0, 1, 0], [1.5, -2.0, 0.5]
TWICE = {"layout": "coo", "shape": [2, 2], "row": ROW, "col": COL, "values": VALUES}
DENSE = np.array([[0.0, -2.0], [2.0, 0.0]])


def result(client: httpx.Client, verb: str, function: str, **fields: Any) -> Any:
    body = {"function": function, "args": [TWICE], **fields}
    reply = client.post(f"/v1/{verb}", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()["result"]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [("lambda A: A", DENSE), ("lambda A: A + A", 2 * DENSE), ("lambda A: A**2", DENSE**2)],
)
def test_a_value_holds_each_cell_once(
    client: httpx.Client, function: str, wanted: np.ndarray
) -> None:
    for layout in (None, *LAYOUTS):
        output = {} if layout is None else {"output": {"layout": layout}}
        got = result(client, "evaluate", function, **output)
        np.testing.assert_array_equal(dense_of_wire(got), wanted)
        assert len(got["values"]) == 2
    held = result(client, "evaluate", function, output={"store": True})
    body = {"function": "lambda B: B.todense()", "args": [held]}
    dense = client.post("/v1/evaluate", json=body).json()["result"]
    np.testing.assert_array_equal(dense, wanted)


def test_a_gradient_is_echoed_an_entry_or_summed_as_a_matrix(client: httpx.Client) -> None:
    function = "lambda A: jnp.sum(A**3)"
    slope = 3 * DENSE**2
    assert result(client, "grad", function)["values"] == slope[ROW, COL].tolist()
    both = result(client, "value_and_grad", function)
    assert both["grad"]["values"] == slope[ROW, COL].tolist()
    for layout in LAYOUTS:
        got = result(client, "grad", function, output={"layout": layout})
        np.testing.assert_array_equal(dense_of_wire(got), slope)
    held = result(client, "grad", function, output={"store": True})
    body = {"function": "lambda A, G: (A - 0.1 * G).todense()", "args": [TWICE, held]}
    stepped = client.post("/v1/evaluate", json=body).json()["result"]
    np.testing.assert_allclose(stepped, DENSE - 0.1 * slope, rtol=1e-15)


SQUARE = {"layout": "coo", "shape": [2, 2], "row": [0, 1], "col": [1, 0], "values": [1.0, 2.0]}
OTHER = {"layout": "coo", "shape": [2, 2], "row": [1, 0, 1], "col": [1, 1, 0]}
BATCH = {
    "layout": "bcoo",
    "shape": [2, 2, 2],
    "indices": [[[0, 1], [1, 1]], [[0, 0], [0, 1]]],
    "values": [[1.0, 2.0], [3.0, 4.0]],
}
STORED = np.array([[0.0, 1.0], [1.0, 0.0]])
SENT = np.array([[0.0, 1.0], [2.0, 0.0]])
BATCHED = np.array([[[0.0, 1.0], [0.0, 2.0]], [[3.0, 4.0], [0.0, 0.0]]])
X = np.array([[1.0, 2.0], [3.0, 4.0]])


def dense(value: Any) -> np.ndarray:
    """A matrix of an answer, or a batch of them, as a dense array."""
    if len(value["shape"]) == 2:
        return dense_of_wire(value)
    made = np.zeros(value["shape"])
    indices = np.reshape(value["indices"]["data"], (*np.shape(value["values"]), 2))
    for at, (cells, values) in enumerate(zip(indices, value["values"], strict=True)):
        np.add.at(made[at], tuple(cells.T), values)
    return made


def test_directions_are_lined_up_cell_by_cell(client: httpx.Client) -> None:
    other = {**OTHER, "values": [5.0, 7.0, 9.0]}
    along = np.array([[0.0, 7.0], [9.0, 0.0]])
    pushed = result(client, "jvp", "lambda A: A.T @ A", args=[SQUARE], tangents=[other])
    np.testing.assert_array_equal(dense(pushed["value"]), SENT.T @ SENT)
    np.testing.assert_array_equal(dense(pushed["tangent"]), along.T @ SENT + SENT.T @ along)
    full = [[8.0, 7.0], [9.0, 5.0]]
    for vector in (other, full):
        got = result(client, "hvp", "lambda A: jnp.sum(A**3)", args=[SQUARE], vectors=[vector])
        np.testing.assert_array_equal(dense(got), 6 * SENT * along)
        pulled = result(client, "vjp", "lambda A: 2 * A.T", args=[SQUARE], cotangents=vector)
        given = np.array(full) * (vector is full) + np.array([[0, 7], [9, 5]]) * (vector is other)
        np.testing.assert_array_equal(dense(pulled["value"]), 2 * SENT.T)
        np.testing.assert_array_equal(dense(pulled["cotangents"][0]), 2 * given.T * STORED)
    nothing = result(client, "jvp", "lambda A: A", args=[SQUARE], tangents=[None])
    assert nothing["tangent"]["values"] == [0.0, 0.0]
    assert result(client, "jvp", "lambda A: A > 0", tangents=[TWICE])["tangent"] is None


def test_a_batch_of_directions_gives_a_batch(client: httpx.Client) -> None:
    fields: dict[str, Any] = {"args": [SQUARE], "batch": True}
    pushed = result(client, "jvp", "lambda A: A.T", tangents=[BATCH], **fields)
    np.testing.assert_array_equal(dense(pushed["tangent"]), (BATCHED * STORED).swapaxes(1, 2))
    got = result(client, "hvp", "lambda A: jnp.sum(A**3)", vectors=BATCH, **fields)
    np.testing.assert_array_equal(dense(got), 6 * SENT * BATCHED)
    pulled = result(client, "vjp", "lambda A: A * 2", cotangents=BATCH, **fields)
    np.testing.assert_array_equal(dense(pulled["cotangents"][0]), 2 * BATCHED * STORED)


def test_a_shared_matrix_under_vmap_gives_a_batch(client: httpx.Client) -> None:
    rows = {"layout": "csr", "shape": [2, 2], "indptr": [0, 1, 2], "indices": [1, 0]}
    shared: dict[str, Any] = {"vmap": {"in_axes": [None, 0]}}
    squares = "lambda A, x: jnp.sum((A @ x)**2)"
    wanted = np.stack([2 * np.outer(SENT @ x, x) * STORED for x in X])
    for matrix, layout in ((SQUARE, "bcoo"), ({**rows, "values": [1.0, 2.0]}, "bcsr")):
        args = [matrix, X.tolist()]
        assert result(client, "grad", squares, args=args, **shared)["layout"] == layout
    got = result(client, "grad", squares, args=[SQUARE, X.tolist()], **shared)
    np.testing.assert_allclose(dense(got), wanted, rtol=1e-14)
    both = [SQUARE, X.tolist()]
    got = result(client, "evaluate", "lambda A, x: (A, (A * x).T)", args=both, **shared)
    np.testing.assert_array_equal(dense(got[0]), np.stack([SENT, SENT]))
    np.testing.assert_array_equal(dense(got[1]), np.stack([(SENT * x).T for x in X]))
    mapped = {"args": [BATCH, X.tolist()], "vmap": {"in_axes": 0}}
    got = result(client, "vjp", "lambda A, x: A * x", cotangents=SQUARE, **mapped)
    back = got["cotangents"][0]
    np.testing.assert_array_equal(
        dense(back), [SENT * x * b for x, b in zip(X, BATCHED != 0, strict=True)]
    )
    assert back["indices"]["data"] == np.ravel(BATCH["indices"]).tolist()
    got = result(
        client, "jacobian", "lambda x: x**2", args=[X.tolist()], sparse=True, vmap={"in_axes": 0}
    )
    np.testing.assert_array_equal(dense(got), [np.diag(2 * x) for x in X])


@pytest.mark.parametrize(
    ("fields", "pointer", "said"),
    [
        ({"vmap": {"in_axes": [None, 0], "out_axes": 1}}, "/vmap/out_axes", "axis 0"),
        ({"vmap": {"in_axes": 0}}, "/vmap/in_axes", "one sparse matrix, of shape [2, 2]"),
        ({"vmap": {"in_axes": [None, 1]}, "output": {"layout": "csr"}}, "", "batch"),
    ],
)
def test_what_no_batch_can_be_is_refused(
    client: httpx.Client, fields: dict[str, Any], pointer: str, said: str
) -> None:
    body = {"function": "lambda A, x: A * x", "args": [SQUARE, X.tolist()], **fields}
    reply = client.post("/v1/evaluate", json=body)
    assert reply.status_code == 422, reply.text
    assert said in reply.json()["detail"]
    assert not pointer or reply.json()["pointer"] == pointer


def test_an_unknown_matrix_is_solved_for_on_its_pattern(client: httpx.Client) -> None:
    function = "lambda A, x: jnp.sum((A @ x - jnp.array([3.0, 8.0]))**2)"
    got = result(client, "minimize", function, args=[SQUARE, [2.0, 1.0]], tol=1e-12)
    np.testing.assert_allclose(dense(got["solution"]), [[0.0, 3.0], [4.0, 0.0]], rtol=1e-9)
