"""schemathesis over the OpenAPI document: whatever it sends, the answer is right or a problem."""

from __future__ import annotations

import json
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error

from app.routes.models import VERB_FIELDS
from tests.serving import ServerProcess


def operations(server: ServerProcess) -> list[Any]:
    """Every operation of the served document."""
    schema = schemathesis.openapi.from_url(server.url + "/openapi.json")
    return [found.ok() for found in schema.get_all_operations()]


def test_every_operation(server: ServerProcess) -> None:
    found = operations(server)
    assert len(found) >= 20
    for operation in found:
        _try(operation)


def _try(operation: Any) -> None:
    @given(case=operation.as_strategy())
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    def answers_or_says_why(case: Any) -> None:
        answer = case.call(timeout=60)
        case.validate_response(answer, checks=[not_a_server_error])
        if answer.status_code >= 400:
            problem = json.loads(answer.content)
            assert {"type", "title", "status", "detail"} <= set(problem)
            assert answer.headers["content-type"] == ["application/problem+json"]
            assert problem["status"] == answer.status_code

    answers_or_says_why()


def test_the_document_knows_every_verb_and_resource(server: ServerProcess) -> None:
    document = httpx.get(server.url + "/openapi.json").json()
    wanted = {f"/v1/{verb}" for verb in VERB_FIELDS} | {
        "/v1/functions",
        "/v1/arrays",
        "/v1/programs",
        "/v1/devices",
        "/health/ready",
        "/metrics",
    }
    assert wanted <= set(document["paths"])


def test_every_problem_type_has_a_page(server: ServerProcess) -> None:
    answer = httpx.post(server.url + "/v1/grad", content=b"{")
    page = httpx.get(server.url + answer.json()["type"])
    assert page.status_code == 200
    assert "text/html" in page.headers["content-type"]


SOLVED = {
    "minimize": {"function": "x^2", "args": [1.0]},
    "least_squares": {"function": "x^2", "args": [1.0]},
    "root": {"function": "x^2", "args": [1.0]},
    "fixed_point": {"function": "x^2", "args": [1.0]},
    "ode": {"function": "lambda t, y: y", "args": [1.0], "t1": 1.0},
    "fit": {"function": "lambda w, x: w * jnp.sum(x)", "args": [1.0, [1.0, 2.0]]},
}


def test_the_document_names_every_method_that_a_solver_has(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for verb, call in SOLVED.items():
        body = paths[f"/v1/{verb}"]["post"]["requestBody"]["content"]["application/json"]
        named = body["schema"]["properties"]["method"]["examples"]
        refused = client.post(f"/v1/{verb}", json={**call, "method": "none such"})
        assert refused.json()["hint"] == "one of " + ", ".join(named), verb
