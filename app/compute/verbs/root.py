"""``root`` and ``fixed_point`` of vector functions, and bisection of one unknown."""

from __future__ import annotations

from typing import Any

from app.compute.calls.call import Call
from app.compute.solvers import machine
from app.compute.solvers.equations.rooting import build_fixed_point, build_root
from app.compute.solvers.outcomes import META
from app.compute.solvers.traced import traced
from app.compute.verbs.verb import Verb


def root(call: Call) -> Any:
    """Solution, residual, iterations, evaluations, outcome."""
    return machine.run(traced(build_root(call), call.options), call.options, call.directions)


def fixed_point(call: Call) -> Any:
    """Solution, residual, iterations, evaluations, outcome."""
    return machine.run(traced(build_fixed_point(call), call.options), call.options, call.directions)


OPTIONS = machine.MACHINE_OPTIONS | {"method", "tol", "trace"}

VERBS = (
    Verb("root", root, options=OPTIONS | {"bracket", "bounds"}, groups=machine.GROUPS, meta=META),
    Verb("fixed_point", fixed_point, options=OPTIONS, groups=machine.GROUPS, meta=META),
)
