"""No field is passed over: where it would change nothing, it is refused by its name.

Every field of the six verbs is in one of two tables: calls that give it no meaning, or the reason
why it always has one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.core.errors import InvalidArgument
from app.routes.call_models import CallFields
from app.routes.models import VERB_FIELDS
from tests.compute.solvers.solving import solve

SOURCES = {
    "minimize": "def h(x):\n    return x[0]\n\ndef f(x):\n    return sum(x**2)\n",
    "least_squares": "def f(x):\n    return x - 1\n",
    "root": "def f(x):\n    return x - 1\n",
    "ode": """
def g(t, y):
    return y

def l(y):
    return sum(y)

def f(t, y):
    return stack([y[1], -y[0]])
""",
    "fit": "def f(w, X, y):\n    return (X @ w - y) ** 2\n",
}
POINT = [np.array([1.0, 2.0])]
ARGS = {
    "root": [np.array([1.0])],
    "fit": [np.zeros(2), np.ones((3, 2)), np.ones(3)],
    "fit model": [np.ones((3, 2)), np.ones(3)],
}
GROUPS = ("seed", "starts", "t0", "t1", "ts")
SEED = np.asarray(1, np.int32)

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("minimize", {"method": "adam", "constraints": {"equality": "h"}}, "/method"),
    ("minimize", {"method": "nelder_mead", "constraints": {"equality": "h"}}, "/method"),
    ("minimize", {"constraints": {"equality": ["h", "k"]}}, "/constraints/equality/1"),
    ("minimize", {"constraints": {"inequality": "k"}}, "/constraints/inequality"),
    ("minimize", {"method": "bfgs", "options": {"learning_rate": 0.1}}, "/options"),
    ("minimize", {"method": "adam", "options": {"speed": 0.1}}, "/options/speed"),
    ("minimize", {"method": "adam", "options": {"final": 0.1}}, "/options/final"),
    ("minimize", {"method": "bfgs", "hessian": "dense"}, "/hessian"),
    ("minimize", {"hessian": "sparse", "constraints": {"equality": "h"}}, "/hessian"),
    ("minimize", {"multi_start": {"count": 10**6}}, "/multi_start/count"),
    ("minimize", {"multi_start": {"count": 3}, "starts": np.ones((2, 2))}, "/starts"),
    ("minimize", {"starts": np.ones((2, 3))}, "/starts"),
    ("minimize", {"seed": np.ones(2), "multi_start": {}}, "/seed"),
    ("minimize", {"seed": SEED}, "/seed"),
    ("least_squares", {"seed": SEED, "starts": np.ones((2, 2))}, "/seed"),
    ("root", {"method": "chord", "bounds": [0, 2]}, "/bounds"),
    ("root", {"bracket": [0, 3], "bounds": [0, 2]}, "/bounds"),
    ("root", {"method": "newton", "bracket": [0, 3]}, "/bracket"),
    ("root", {"method": "bisection"}, "/bracket"),
    ("root", {"bracket": [0, 3], "tol": 1e-3}, "/tol"),
    ("root", {"bracket": [0, 3], "max_steps": 9}, "/max_steps"),
    ("ode", {"event": "k"}, "/event"),
    ("ode", {"event": ""}, "/event"),
    ("ode", {"noise": "k"}, "/noise"),
    ("ode", {"loss": "k"}, "/loss"),
    ("ode", {"noise": "g", "method": "tsit5"}, "/method"),
    ("ode", {"method": "milstein"}, "/method"),
    ("ode", {"paths": 3}, "/paths"),
    ("ode", {"seed": SEED}, "/seed"),
    ("ode", {"adjoint": "backsolve"}, "/adjoint"),
    ("ode", {"wrt": 0}, "/wrt"),
    ("ode", {"loss": "l", "event": "g"}, "/event"),
    ("ode", {"loss": "l", "dense": True}, "/dense"),
    ("ode", {"dense": 10**6}, "/dense"),
    ("ode", {"loss": "l", "noise": "g", "paths": 2}, "/paths"),
    ("ode", {"noise": "g", "rtol": 1e-3}, "/rtol"),
    ("ode", {"noise": "g", "tol": 1e-3}, "/tol"),
    ("ode", {"method": "leapfrog", "atol": 1e-3}, "/atol"),
    ("ode", {"rtol": 1e-3, "atol": 1e-3, "tol": 1e-3}, "/tol"),
    ("fit", {"l2": 1.0}, "/l2"),
    ("fit", {"intercept": True}, "/intercept"),
    ("fit", {"max_steps": 10}, "/max_steps"),
    ("fit", {"wrt": 1}, "/wrt"),
    ("fit", {"options": {"schedule": "cosine", "power": 2.0}}, "/options/power"),
    ("fit", {"options": {"schedule": "linear", "warmup": 5}}, "/options/warmup"),
    ("fit", {"options": {"boundaries": [[10, 0.1]]}}, "/options/boundaries"),
    ("fit", {"model": "linear", "method": "adam"}, "/method"),
    ("fit", {"model": "linear", "options": {"clip": 1.0}}, "/options"),
    ("fit", {"model": "linear", "epochs": 3}, "/epochs"),
    ("fit", {"model": "linear", "batch_size": 3}, "/batch_size"),
    ("fit", {"model": "linear", "validation_split": 0.1}, "/validation_split"),
    ("fit", {"model": "linear", "patience": 2}, "/patience"),
    ("fit", {"model": "linear", "seed": SEED}, "/seed"),
    ("fit", {"model": "linear", "wrt": 0}, "/wrt"),
]

ALWAYS: dict[str, dict[str, str]] = {
    "minimize": {
        "tol": "every method ends by it",
        "max_steps": "every method counts its steps",
        "trace": "refused alone where there are too many unknowns",
        "bounds": "every method keeps them",
    },
    "least_squares": {
        "method": "all take the same fields",
        "tol": "every method ends by it",
        "max_steps": "every method counts its steps",
        "trace": "as of minimize",
        "multi_start": "starts beside it are refused, as of minimize",
        "starts": "as of minimize",
        "bounds": "every method keeps them",
    },
    "root": {"method": "refused by the fields it does not take", "trace": "as of minimize"},
    "fixed_point": {
        "method": "both take the same fields",
        "tol": "both end by it",
        "max_steps": "both count their steps",
        "trace": "as of minimize",
    },
    "ode": {
        "t0": "the start",
        "t1": "the end",
        "ts": "save points; with a loss, what it is of",
        "max_steps": "every method counts its steps",
        "dt0": "the first step, or the size of all",
    },
    "fit": {"model": "refuses what it does not take"},
}
"""Fields that mean something whatever stands beside them."""


@pytest.mark.parametrize(("verb", "fields", "pointer"), REFUSED)
def test_what_would_change_nothing_is_refused(
    verb: str, fields: dict[str, Any], pointer: str
) -> None:
    groups = {name: fields[name] for name in GROUPS if name in fields}
    options = {name: value for name, value in fields.items() if name not in GROUPS}
    if verb == "ode":
        groups["t1"] = np.asarray(1.0)
    kind = "fit model" if "model" in fields else verb
    source = "lambda X, y: 0.0" if "model" in fields else SOURCES[verb]
    with pytest.raises(InvalidArgument) as refused:
        solve(verb, source, ARGS.get(kind, POINT), groups=groups, **options)
    assert refused.value.pointer == pointer


@pytest.mark.parametrize("verb", ALWAYS)
def test_every_field_is_in_a_table(verb: str) -> None:
    model = VERB_FIELDS[verb]
    fields = {*model.model_fields, *model.INPUTS} - set(CallFields.model_fields)
    refused = {pointer.split("/")[1] for name, _, pointer in REFUSED if name == verb}
    assert fields == (refused - {"wrt"}) | set(ALWAYS[verb])


def test_functions_that_are_not_there_are_told_from_those_that_are() -> None:
    with pytest.raises(InvalidArgument, match="does not define k") as refused:
        solve("ode", SOURCES["ode"], POINT, groups={"t1": np.asarray(1.0)}, event="k")
    assert refused.value.hint == "it defines g, l, f"
    with pytest.raises(InvalidArgument) as refused:
        solve("ode", "lambda t, y: -y", POINT, groups={"t1": np.asarray(1.0)}, event="k")
    assert "as functions" in str(refused.value.hint)


@pytest.mark.parametrize("field", ["event", "loss", "noise"])
def test_a_helper_written_last_is_not_taken_for_the_function_of_the_call(field: str) -> None:
    source = "def f(t, y):\n    return -y\n\ndef g(t, y):\n    return y - 0.5\n"
    given: dict[str, Any] = {"groups": {"t1": np.asarray(5.0)}, field: "g"}
    with pytest.raises(InvalidArgument, match="the call is of it") as refused:
        solve("ode", source, [1.0], **given)
    assert refused.value.pointer == f"/{field}"
    assert "entry" in str(refused.value.hint)
    if field == "event":
        assert solve("ode", source, [1.0], entry="f", **given)["t"] == pytest.approx(np.log(2))
