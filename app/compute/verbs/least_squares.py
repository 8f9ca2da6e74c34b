"""``least_squares``: the least sum of squares of a vector function, with standard errors."""

from __future__ import annotations

from typing import Any

from app.compute.calls.call import Call
from app.compute.solvers import machine
from app.compute.solvers.equations.fitting import build
from app.compute.solvers.outcomes import META
from app.compute.solvers.traced import traced
from app.compute.verbs.verb import Verb


def least_squares(call: Call) -> Any:
    """Solution, rss, covariance, standard errors, iterations, outcome."""
    return machine.run(traced(build(call), call.options), call.options, call.directions)


OPTIONS = machine.MACHINE_OPTIONS | {"method", "tol", "bounds", "trace", "multi_start"}
GROUPS = {**machine.GROUPS, "seed": None, "starts": None}

VERBS = (Verb("least_squares", least_squares, options=OPTIONS, groups=GROUPS, meta=META),)
