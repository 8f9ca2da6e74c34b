"""Every case of the solvers with a right value from elsewhere, asked over HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np
import pytest

from tests.case_requests import CASES as DIRECTORY
from tests.case_requests import asked, corpus, decode, load_cases, value

KINDS = ("minimize", "root", "least_squares", "ode", "fit")
CASES = load_cases(*KINDS)
NAMES = {"solution": "x", "value": "fun"}
"""Our words for the corpus's."""


def case_to_body(case: dict[str, Any]) -> dict[str, Any]:
    """The JSON body that asks what the case asks."""
    op = case["op"]
    if case["kind"] == "fit":
        return {"args": _data(case["args"][0]), "model": op["model"], **_kept(op, "l2")}
    source = case["function"]
    body = {"args": [value(argument) for argument in case["args"]], "dtype": case["dtype"]}
    body |= _kept(op, "bounds", "bracket", "t0", "t1", "ts", "tol", "max_steps")
    if "event" in op:
        source += "\n\n" + op["event"]
        body["event"] = "g"
    if "grad" in op:
        source += f"\n\ndef loss(y):\n    return y[{op['grad']}]"
        body |= {"loss": "loss", "wrt": 1}
    return {"function": {"source": source, "entry": "f"}, **body}


def _kept(op: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: op[name] for name in names if name in op}


def _data(given: dict[str, Any]) -> dict[str, Any]:
    if "file" in given:
        given = json.loads((DIRECTORY / given["file"]).read_text())
    return {"X": given["X"], "y": given["y"]}


def ask(client: httpx.Client, case: dict[str, Any]) -> Any:
    """What the server says: fields by the corpus's names, or an exception where it refused."""
    document = asked(client, case["kind"], case_to_body(case))
    if isinstance(document, Exception):
        return document
    found = {NAMES.get(name, name): decode(leaf) for name, leaf in document["result"].items()}
    if "ys" in found:
        found["y"] = found["ys"]
    return {**found, "success": document["success"]}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["level"] == "must"], ids=lambda case: case["id"]
)
def test_must(client: httpx.Client, case: dict[str, Any]) -> None:
    met, why = corpus.compare_case(case, ask(client, case))
    assert met, why


def test_beyond(client: httpx.Client, record_property: Any) -> None:
    cases = [case for case in CASES if case["level"] == "beyond"]
    missed = {case["id"] for case in cases if not corpus.compare_case(case, ask(client, case))[0]}
    record_property("beyond", f"{len(cases) - len(missed)} of {len(cases)}")
    assert not missed


def test_outcome_is_a_sentence(client: httpx.Client) -> None:
    body = {"function": "(x - 2)^2 + 1", "args": [5.0]}
    said = client.post("/v1/minimize", json=body).json()
    assert said["outcome"] == "converged: the gradient is within tolerance"
    assert said["success"] is True
    assert said["statistics"]["iterations"] > 0
    assert np.isclose(said["result"]["solution"], 2.0)


def test_many_starts_give_lists(client: httpx.Client) -> None:
    body = {"function": "(x - 2)^2 + 1", "args": [[5.0, 1.0, 2.0]], "vmap": {"in_axes": 0}}
    said = client.post("/v1/minimize", json=body).json()
    assert said["success"] == [True, True, True]
    assert np.allclose(said["result"]["solution"], 2.0)
    assert len(said["statistics"]["iterations"]) == 3
