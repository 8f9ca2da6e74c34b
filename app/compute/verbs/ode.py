"""``ode``: y' = f(t, y, *parameters) from t0 to t1; with ``loss``, the gradient of one."""

from __future__ import annotations

from typing import Any

import jax

from app.compute.calls.call import Call
from app.compute.solvers import machine
from app.compute.solvers import options as read
from app.compute.solvers.ode.ode import build, plan, require_used
from app.compute.solvers.ode.ode_gradient import gradient
from app.compute.solvers.outcomes import META
from app.compute.solvers.seed import seed
from app.compute.verbs.verb import Verb


def ode(call: Call) -> Any:
    """The solution at t1 and at the save points, steps taken, outcome; or a loss and gradient."""
    require_used(call)
    if call.options.get("loss") is not None:
        read.unused(call, ("phase",), "is not of a gradient", "it is computed in one piece")
        return gradient(call)
    if call.options.get("paths") is None:
        return machine.run(build(call), call.options, call.directions)
    return _paths(call, read.count(call.options, "paths", 1))


def _paths(call: Call, count: int) -> Any:
    """Every result with one more axis in front: a path of the noise each."""
    keys = jax.random.split(seed(call), count)
    state = call.directions.get("state", [])

    def one(path: Any, state: Any) -> Any:
        return machine.run(build(call, path), call.options, {**call.directions, "state": state})

    return jax.vmap(one)(keys, state)


OPTIONS = machine.MACHINE_OPTIONS | {
    "method", "tol", "rtol", "atol", "dt0", "event", "loss", "adjoint", "noise", "paths",
    "dense",
}  # fmt: skip
GROUPS = {**machine.GROUPS, "t0": None, "t1": None, "ts": None, "seed": None}

VERBS = (Verb("ode", ode, options=OPTIONS, leading=1, groups=GROUPS, meta=META, plan=plan),)
