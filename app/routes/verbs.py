"""The verbs as FastAPI sees them: what OpenAPI says of them, and a door to the same endpoint."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.routing import Route

from app.routes.compute import ComputeEndpoint
from app.routes.models import VERB_FIELDS, CallFields, RunFields
from app.routes.verb_examples import EXAMPLES

_VALUE = {"description": "A number, nested list, typed array, sparse array, reference or pytree"}
_INPUTS: dict[str, Any] = {
    "args": {
        "description": "The inputs: a list by position or an object by parameter name",
        "anyOf": [{"type": "array", "items": _VALUE}, {"type": "object"}],
        "default": [],
    },
}
_OWN: dict[str, Any] = {
    "t0": {"description": "Where the solution starts", "type": "number", "default": 0.0},
    "t1": {"description": "Where it ends, after or before t0", "type": "number"},
    "ts": {"description": "Times between t0 and t1 to keep the solution at, in any order"},
    "starts": {"description": "Starting points, one a row, beside the arguments themselves"},
    "seed": {
        "description": "A whole number: the same one gives the same result",
        "type": "integer",
        "minimum": 0,
        "maximum": 2**31 - 1,
        "default": 0,
    },
}
"""Inputs that single verbs have beside ``args``."""
_GROUPS = {"jvp": "tangents", "vjp": "cotangents", "hvp": "vectors"}
_SUMMARIES = {
    "evaluate": "f(args)",
    "grad": "Gradient of a scalar function",
    "value_and_grad": "Value and gradient in one run",
    "jacobian": "All first derivatives",
    "hessian": "All second derivatives of a scalar function",
    "jvp": "Value and directional derivative along tangents",
    "vjp": "Value and derivative pulled back along cotangents",
    "hvp": "Hessian-vector products",
    "check_grads": "Automatic derivatives against finite differences",
    "abstract_eval": "Shapes and dtypes alone: nothing is compiled or run",
    "minimize": "Least value of a scalar function, with bounds and constraints",
    "root": "Where a function is zero",
    "least_squares": "Least sum of squares, with covariance and standard errors",
    "fixed_point": "Where a function maps a point to itself",
    "ode": "Solution of y' = f(t, y, *parameters) from t0 to t1",
    "linear_solve": "Solve A x = b for a sparse or dense A; one right-hand side, or many",
    "eigen": "A few eigenvalues and eigenvectors of a sparse or dense matrix",
    "fit": "Regression by name, or training of a loss in batches",
}


def mount(app: FastAPI, endpoint: ComputeEndpoint) -> None:
    """Serve every verb at its path, so that 405 and redirects know of it too."""
    for path in (*endpoint.paths, "/v1/programs/{name}"):
        app.router.routes.append(Route(path, endpoint, methods=["POST"]))


def schemas() -> dict[str, Any]:
    """The shared models behind the verbs' fields."""
    named: dict[str, Any] = {}
    for model in VERB_FIELDS.values():
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        named.update(schema.get("$defs", {}))
    return named


def operations() -> dict[str, Any]:
    """OpenAPI path items of every verb and of running a program by id."""
    paths: dict[str, Any] = {
        f"/v1/{verb}": {"post": _operation(verb, model)} for verb, model in VERB_FIELDS.items()
    }
    run = _described("run_program", "Run a compiled program on new inputs", RunFields, _INPUTS)
    run["parameters"].append(
        {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    )
    paths["/v1/programs/{name}"] = {"post": run}
    return paths


def _operation(verb: str, model: type[CallFields]) -> dict[str, Any]:
    inputs = dict(_INPUTS)
    if verb in _GROUPS:
        inputs[_GROUPS[verb]] = _VALUE
    inputs |= {name: _OWN[name] for name in model.INPUTS}
    return _described(verb, _SUMMARIES[verb], model, inputs)


def _described(
    name: str, summary: str, model: type[RunFields], inputs: dict[str, Any]
) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    schema["properties"] = {**schema["properties"], **inputs}
    body: dict[str, Any] = {"schema": schema}
    if name in EXAMPLES:
        body["example"] = EXAMPLES[name]
    return {
        "tags": ["verbs"],
        "operationId": name,
        "summary": summary,
        "parameters": list(_HEADERS),
        "requestBody": {
            "required": True,
            "content": {"application/json": body, "application/msgpack": body},
        },
        "responses": {
            "200": {
                "description": "The result, the program it came from, and where that was found",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "202": BEGUN,
            "default": {
                "description": "A problem (RFC 9457)",
                "content": {"application/problem+json": {"schema": PROBLEM}},
            },
        },
    }


_HEADERS: tuple[dict[str, Any], ...] = (
    {
        "name": "Prefer",
        "in": "header",
        "description": "respond-async begins a run; with wait=5 only where it takes longer",
        "schema": {"type": "string"},
    },
    {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "With respond-async: the same key and request begin one run",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    },
)

BEGUN: dict[str, Any] = {
    "description": "A run that was begun; Location is its address",
    "headers": {"Location": {"schema": {"type": "string"}}},
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["run", "status"],
                "properties": {"run": {"type": "string"}, "status": {"type": "string"}},
            }
        }
    },
}

PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "line": {"type": "integer"},
        "column": {"type": "integer"},
        "pointer": {"type": "string"},
        "hint": {"type": "string"},
    },
}
