"""``minimize``: the least value of a scalar function, with bounds and constraints."""

from __future__ import annotations

from typing import Any

from app.compute.calls.call import Call
from app.compute.solvers import machine
from app.compute.solvers.minimize.minimizing import build, plan
from app.compute.solvers.outcomes import META
from app.compute.solvers.traced import traced
from app.compute.verbs.verb import Verb


def minimize(call: Call) -> Any:
    """Solution, value, gradient norm, iterations, evaluations, outcome."""
    return machine.run(traced(build(call), call.options), call.options, call.directions)


OPTIONS = machine.MACHINE_OPTIONS | {
    "method",
    "tol",
    "bounds",
    "constraints",
    "trace",
    "multi_start",
    "hessian",
    "options",
}
GROUPS = {**machine.GROUPS, "seed": None, "starts": None}

VERBS = (Verb("minimize", minimize, options=OPTIONS, groups=GROUPS, meta=META, plan=plan),)
