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
