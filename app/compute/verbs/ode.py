"""``ode``: y' = f(t, y, *parameters) from t0 to t1; with ``loss``, the gradient of one."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from app.compute.call import Call
from app.compute.solvers import machine
from app.compute.solvers.ode import build, gradient
from app.compute.solvers.outcomes import META, Outcome
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument


def ode(call: Call) -> Any:
    """The solution at t1 and at the save points, steps taken, outcome."""
    if call.options.get("loss") is None:
        return machine.run(build(call), call.options, call.directions)
    if call.options.get("phase") is not None:
        raise InvalidArgument("a gradient is computed in one piece", pointer="/phase")
    found = gradient(call)
    good = found.pop("good")
    outcome = jnp.where(good, Outcome.END, Outcome.LIMIT).astype(jnp.int32)
    return {**found, "outcome": outcome}


OPTIONS = machine.MACHINE_OPTIONS | {
    "method", "t0", "t1", "ts", "tol", "rtol", "atol", "dt0", "event", "loss",
}  # fmt: skip

VERBS = (Verb("ode", ode, options=OPTIONS, leading=1, groups=machine.GROUPS, meta=META),)
