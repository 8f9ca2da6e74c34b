"""``fit``: regressions by name, or the client's own loss trained in batches."""

from __future__ import annotations

from typing import Any

from app.compute.calls.call import Call
from app.compute.solvers import machine
from app.compute.solvers.fit.regression import build
from app.compute.solvers.outcomes import META
from app.compute.verbs.verb import Verb


def fit(call: Call) -> Any:
    """Coefficients or parameters, objective, history, outcome."""
    return machine.run(build(call), call.options, call.directions)


OPTIONS = machine.MACHINE_OPTIONS | {
    "model", "l2", "intercept", "method", "options", "batch_size", "epochs", "validation_split",
    "patience",
}  # fmt: skip

VERBS = (Verb("fit", fit, options=OPTIONS, groups={**machine.GROUPS, "seed": None}, meta=META),)
