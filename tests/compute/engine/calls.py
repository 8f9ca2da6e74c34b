"""Calls the engine in process with a body in the API's JSON form, through the real codec."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from app.compute.engine import Engine
from app.compute.limits import EngineLimits
from app.compute.spec import ProgramSpec
from app.core.codec.calls import CodecLimits, decode_body, encode_body
from app.core.values import aval_of, unflatten
from tests.case_requests import decode

NOT_OPTIONS = ("function", "dtype", "output", "device", "timeout_s", "diagnose")


def make_engine(**limits: int) -> Engine:
    """An engine with the default limits, or some of its own."""
    return Engine(EngineLimits(**limits))


def spec_of(verb: str, body: dict[str, Any]) -> tuple[ProgramSpec, list[np.ndarray]]:
    """The spec and the leaves that a body asks for."""
    decoded = decode_body(json.dumps(body).encode(), "json", CodecLimits())
    fields = decoded.fields
    function = fields["function"]
    source = function if isinstance(function, dict) else {"source": function}
    spec = ProgramSpec(
        source["source"],
        source.get("entry"),
        verb,
        decoded.inputs,
        tuple(aval_of(leaf) for leaf in decoded.leaves),
        {name: field for name, field in fields.items() if name not in NOT_OPTIONS},
        fields.get("dtype", "float64"),
    )
    return spec, decoded.leaves


def call(engine: Engine, verb: str, function: Any, args: Any, **fields: Any) -> Any:
    """Compile, load and run; the result as plain nested lists of numpy arrays."""
    spec, leaves = spec_of(verb, {"function": function, "args": args, **fields})
    lowered = engine.lower(spec)
    blob = engine.compile(lowered)
    assert blob is not None
    results = engine.run(engine.load(blob), leaves)
    return unflatten(lowered.meta["out"], results)


def answer_of(engine: Engine, verb: str, body: dict[str, Any]) -> Any:
    """The ``result`` document of the answer, as a client would parse it."""
    spec, leaves = spec_of(verb, body)
    lowered = engine.lower(spec)
    results = engine.run(engine.build(lowered), leaves)
    encoded = encode_body({}, {"result": lowered.meta["out"]}, results, "json", spec.dtype)
    return json.loads(encoded)["result"]


def numbers(engine: Engine, verb: str, body: dict[str, Any]) -> Any:
    """The decoded ``result`` of the answer."""
    return decode(answer_of(engine, verb, body))
