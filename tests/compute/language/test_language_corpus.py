"""Functions as users write them give the right values; hostile sources are refused in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from app.compute.language import Limits, parse
from app.core.errors import ProblemError

DATA = Path(__file__).parent / "data"
X = jax.ShapeDtypeStruct((4,), np.dtype("float64"))
QUICK = Limits(deadline_s=1.0)
"""The largest source that only time stops need not be given all of it."""


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def load(name: str) -> list[Any]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [pytest.param(json.loads(line), id=json.loads(line)["id"]) for line in lines]


def value_of(wire: Any) -> Any:
    if isinstance(wire, dict):
        return {name: value_of(item) for name, item in wire.items()}
    if isinstance(wire, list):
        try:
            array = np.array(wire)
        except ValueError:
            return [value_of(item) for item in wire]
        return array if array.dtype != object else [value_of(item) for item in wire]
    return wire if isinstance(wire, int) else np.asarray(wire)


def check(got: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert set(got) == set(wanted)
        for name, item in wanted.items():
            check(got[name], item)
    elif isinstance(wanted, list) and isinstance(got, (list, tuple)):
        assert len(got) == len(wanted)
        for one, item in zip(got, wanted, strict=True):
            check(one, item)
    else:
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", load("functions.jsonl"))
def test_function_gives_right_value(case):
    function = parse(case["source"])
    got = jax.jit(function.bind())(*[value_of(wire) for wire in case["args"]])
    check(got, case["expect"])


@pytest.mark.parametrize("case", load("attacks.jsonl"))
def test_attack_is_refused_or_bounded(case):
    """``time out`` and some ``bounded`` ones trace well: running them is the worker's to stop."""
    limits = QUICK if case["id"] == "run-python-while" else Limits()
    try:
        function = parse(case["source"], limits=limits)
        jax.eval_shape(function.bind(), X)
        refusal = None
    except ProblemError as error:
        refusal = error
    if refusal is None:
        assert case["must"] != "reject", case["why"]
        return
    assert refusal.status == 422
    assert "0x" not in refusal.detail
    assert ".py" not in refusal.detail
