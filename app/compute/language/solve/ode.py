"""``solve.ode``: y' = f(t, y, *parameters) at given times, inside a function."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from app.compute.language.solve import options as read
from app.compute.language.solve.outcomes import sound
from app.compute.solvers.ode.control import Control
from app.compute.solvers.ode.integrators import EXPLICIT, IMPLICIT, RungeKutta
from app.compute.solvers.ode.march import Marched, march, march_back
from app.compute.solvers.outcomes import Outcome
from app.core.errors import InvalidArgument

ORDER = 1
METHODS = (*EXPLICIT, *IMPLICIT)
DERIVATIVES = ("reverse", "backsolve", "forward")


class Trajectory(NamedTuple):
    """``ys``, one entry for each time, how many ``steps``, ``success`` and ``outcome``."""

    ys: Any
    steps: jax.Array
    success: jax.Array
    outcome: jax.Array


def ode(
    f: Any,
    y0: Any,
    ts: Any,
    *parameters: Any,
    method: str = "tsit5",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    max_steps: int = 16384,
    derivative: str = "reverse",
    full: bool = False,
) -> Any:
    """Solve y' = f(t, y, *parameters) from y(ts[0]) = y0; the solution at every time of ts.

    The answer has the tree of y0, each leaf with an axis of times in front; with ``full=True``
    also steps, success and outcome. NaN where the end was not reached in ``max_steps`` between
    two times. ``kvaerno5`` is for stiff problems. Differentiable in y0, parameters and what f
    closes over: ``derivative`` "reverse" for grad and vjp, by recursive checkpoints; "backsolve"
    alike in constant memory, by the adjoint equation; "forward" for jvp, jacfwd and hessians.
    """
    start, restore = ravel_pytree(jax.tree.map(jnp.asarray, y0))
    ts = jnp.asarray(ts)
    if not jnp.issubdtype(start.dtype, jnp.floating) or not start.size:
        raise InvalidArgument("solve.ode needs an initial value of real floating numbers")
    if ts.ndim != 1 or ts.size < 2 or jnp.issubdtype(ts.dtype, jnp.complexfloating):
        raise InvalidArgument("ts is a list of two times or more", hint="the first is that of y0")
    ts = jax.lax.stop_gradient(ts.astype(start.dtype))
    how = read.choice("derivative", derivative, DERIVATIVES)
    name = read.choice("method", method, METHODS)
    most = read.count("max_steps", max_steps)
    control = _control(rtol, atol, start.dtype)
    direction = jnp.where(ts[-1] < ts[0], -1.0, 1.0).astype(start.dtype)
    times = direction * ts

    def slope(t: Any, y: Any, given: Any) -> Any:
        value = f(direction * t, restore(y), *given)
        if jax.tree.map(jnp.shape, value) != jax.tree.map(jnp.shape, restore(y)):
            raise InvalidArgument("f returns other shapes than y has", hint="dy/dt is like y")
        if any(jnp.iscomplexobj(leaf) for leaf in jax.tree.leaves(value)):
            raise InvalidArgument("f returns complex numbers; y is real")
        return direction * ravel_pytree(value)[0].astype(start.dtype)

    def stretch(now: Marched, end: Any) -> tuple[Marched, Any]:
        if how == "backsolve":
            # All that the right side closes over becomes an argument, to be differentiated in.
            right, extra = jax.closure_convert(
                lambda t, y, given: slope(t, y, given), now.t, now.y, list(parameters)
            )
            now = march_back(
                partial(RungeKutta.of, name),
                lambda t, y, p: right(t, y, p[0], *p[1]),
                control, (list(parameters), list(extra)), now, end, most,
            )  # fmt: skip
        else:
            stepper = RungeKutta.of(
                name, lambda t, y: slope(t, y, parameters), control, forward=how == "forward"
            )
            now = march(stepper, control, now, end, most, kinds[how])
        return now, now.y

    kinds: Any = {"reverse": "checkpointed", "forward": "lax"}
    still = jax.lax.stop_gradient(start)
    ends = (times[0], jnp.where(times[-1] > times[0], times[-1], times[0] + 1.0))
    order = RungeKutta.of(name, lambda t, y: y, control).order
    held = jax.lax.stop_gradient
    first = held(control.first(lambda t, y: held(slope(t, y, parameters)), order, ends, still))
    now, ys = jax.lax.scan(stretch, Marched.at(times[0], start, first), times[1:])
    whole = jnp.concatenate([start[None], ys])
    return _answer(restore, whole, now, times, read.flag("full", full))


def _control(rtol: Any, atol: Any, dtype: Any) -> Control:
    floor = 10 * float(jnp.finfo(dtype).eps)
    absolute = read.number("atol", atol, least=float(jnp.finfo(dtype).tiny))
    return Control(max(floor, read.number("rtol", rtol, least=0.0)), np.asarray(absolute, dtype))


def _answer(restore: Any, whole: Any, now: Marched, times: Any, full: bool) -> Any:
    sorted_ = jnp.all(jnp.isfinite(times)) & jnp.all(jnp.diff(times) >= 0)
    success = sorted_ & (now.t >= times[-1]) & jnp.all(jnp.isfinite(whole))
    ys = sound(jax.vmap(restore)(whole), success)
    if not full:
        return ys
    outcome = jnp.where(now.t >= times[-1], Outcome.NOT_FINITE, Outcome.LIMIT)
    outcome = jnp.where(sorted_, outcome, Outcome.TIMES)
    outcome = jnp.where(success, Outcome.END, outcome).astype(jnp.int32)
    return Trajectory(ys, now.steps, success, outcome)
