"""``ode``: reads the call f(t, y, *parameters), and makes an integration of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from app.compute import results
from app.compute.call import Call
from app.compute.solvers import options as read
from app.compute.solvers.integration import Course, Integration
from app.compute.solvers.integrators import IMPLICIT, METHODS, Stepper
from app.core.errors import InvalidArgument

DEFAULT_RTOL = {"float64": 1e-8, "float32": 1e-5}
DEFAULT_ATOL = {"float64": 1e-10, "float32": 1e-7}
GRADIENT_STEPS = 16_384


def build(call: Call) -> Integration:
    """The machine of a call."""
    y0, restore, f = _flat(call)
    direction, times, save = _times(call, y0.dtype)
    rtol, atol = _tolerances(call, y0)
    name = read.one_of(call.options, "method", METHODS, "auto")

    def forward(t: Any, y: Any) -> Any:
        return direction * f(direction * t, y)

    names = [name] if name != "auto" else ["dopri8" if rtol < 1e-5 else "tsit5", "kvaerno5"]
    steppers = tuple(Stepper.of(each, forward, rtol, atol) for each in names)
    event = _event(call, restore, direction)

    def answer(course: Course) -> dict[str, Any]:
        found: dict[str, Any] = {
            "t": direction * course.t,
            "y": restore(course.y),
            "steps": course.steps,
            "rejected": course.rejected,
            "outcome": course.outcome,
        }
        if save.size:
            found["ts"] = direction * save
            found["ys"] = jax.vmap(restore)(course.saved)
        return found

    dt0 = read.number(call.options, "dt0", 1.0) if "dt0" in call.options else None
    steps = read.count(call.options, "max_steps", 100_000)
    return Integration(forward, steppers, y0, times, save, event, rtol, atol, dt0, steps, answer)


def _flat(call: Call) -> tuple[Any, Callable[[Any], Any], Callable[[Any, Any], Any]]:
    """The initial value as a vector, the way back, and the right side on vectors."""
    if not call.args:
        raise InvalidArgument("ode needs the initial value y0", pointer="/args")
    start, *parameters = call.args
    y0, restore = ravel_pytree(start)
    if not jnp.issubdtype(y0.dtype, jnp.floating) or not y0.size:
        raise InvalidArgument(
            f"the initial value is {y0.dtype}{list(y0.shape)}: real floating numbers are needed",
            pointer=call.arguments.pointers[0],
        )
    wanted = [leaf.shape for leaf in jax.tree.leaves(start)]
    given = [leaf.shape for leaf in jax.tree.leaves(call.staged.out)]
    if wanted != given:
        raise InvalidArgument(
            f"the function returns shapes {list(map(list, given))} for y of shapes "
            f"{list(map(list, wanted))}",
            pointer="/function",
            hint="dy/dt has the shape of y",
        )

    def f(t: Any, y: Any) -> Any:
        slope = call.staged(jnp.asarray(t, y0.dtype), restore(y), *parameters)
        return ravel_pytree(slope)[0].astype(y0.dtype)

    return y0, restore, f


def _times(call: Call, dtype: Any) -> tuple[float, tuple[Any, Any], Any]:
    """The direction of time, the ends and the save points, all made to run forward."""
    ends = []
    for name, default in (("t0", 0.0), ("t1", None)):
        value = call.options.get(name, default)
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not np.isfinite(value):
            raise InvalidArgument(f"{name} is a number", pointer=f"/{name}")
        ends.append(float(value))
    direction = -1.0 if ends[1] < ends[0] else 1.0
    ts = np.asarray(call.options.get("ts") or [], np.float64)
    if ts.ndim != 1 or not np.all(np.isfinite(ts)):
        raise InvalidArgument("ts is a list of times", pointer="/ts")
    if np.any(np.diff(direction * ts) < 0):
        raise InvalidArgument(
            "times must increase from t0 to t1", pointer="/ts", hint="sort the save points"
        )
    low, high = sorted(ends)
    if ts.size and (ts.min() < low or ts.max() > high):
        raise InvalidArgument(f"save points lie outside [{low}, {high}]", pointer="/ts")
    times = (jnp.asarray(direction * ends[0], dtype), jnp.asarray(direction * ends[1], dtype))
    return direction, times, jnp.asarray(direction * ts, dtype)


def _tolerances(call: Call, y0: Any) -> tuple[float, Any]:
    name = y0.dtype.name
    tol = call.options.get("tol")
    both = None if tol is None else read.number(call.options, "tol", 1.0)
    rtol = read.number(call.options, "rtol", both or DEFAULT_RTOL[name])
    floor = 10 * float(jnp.finfo(y0.dtype).eps)
    given = call.options.get("atol", both or DEFAULT_ATOL[name])
    atol = jnp.asarray(np.asarray(given, np.float64), y0.dtype)
    if atol.shape not in ((), y0.shape) or not np.all(np.asarray(given, np.float64) > 0):
        raise InvalidArgument(f"atol is a positive number, or {y0.size} of them", pointer="/atol")
    return max(rtol, floor), atol


def _event(
    call: Call, restore: Callable[[Any], Any], direction: float
) -> Callable[[Any, Any], Any] | None:
    """The function that the event names: g(t, y, *parameters), zero when it happens."""
    name = call.options.get("event")
    if name is None:
        return None
    if not isinstance(name, str):
        raise InvalidArgument("event names a function of the source", pointer="/event")
    function, parameters = call.companion(name), call.args[1:]

    def event(t: Any, y: Any) -> Any:
        value = results.arrays(function(direction * t, restore(y), *parameters))
        return jnp.reshape(value, ()).astype(y.dtype)

    return event


def gradient(call: Call) -> dict[str, Any]:
    """A loss of the solution and its gradient in the ``wrt`` arguments.

    ``loss`` names a function of the source, of y(t1), or of all save points where ``ts`` is
    given. Differentiated through the steps, with recursive checkpoints.
    """
    call.require_differentiable()
    loss = call.companion(str(call.options["loss"]))
    machine = build(call)
    name = read.one_of(call.options, "method", METHODS, "auto")
    stepper = machine.steppers[-1 if name in IMPLICIT else 0]
    times, save = machine.times, machine.save
    _, restore, _ = _flat(call)
    direction = _times(call, machine.y0.dtype)[0]

    def value(*points: Any) -> tuple[Any, Any]:
        args = list(call.args)
        for position, point in zip(call.wrt.positions, points, strict=True):
            args[position] = point
        y0 = ravel_pytree(args[0])[0]

        def f(t: Any, y: Any, parameters: Any) -> Any:
            slope = call.staged(direction * t, restore(y), *parameters)
            return direction * ravel_pytree(slope)[0]

        kept = diffrax.SaveAt(ts=save) if save.size else diffrax.SaveAt(t1=True)
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(f), stepper.solver, times[0], times[1], None, y0, args[1:],
            saveat=kept, max_steps=read.count(call.options, "max_steps", GRADIENT_STEPS),
            stepsize_controller=diffrax.PIDController(machine.rtol, machine.atol), throw=False,
        )  # fmt: skip
        ys = jax.vmap(restore)(found.ys) if save.size else restore(jnp.asarray(found.ys)[-1])
        good = found.result == diffrax.RESULTS.successful
        result = results.arrays(loss(ys))
        return jnp.reshape(result, ()), (good, ys, found.stats["num_steps"])

    argnums = tuple(range(len(call.points)))
    differentiate = jax.value_and_grad(value, argnums, has_aux=True)
    (number, (good, ys, steps)), gradients = differentiate(*call.points)
    return {
        "value": number,
        "grad": call.wrt.pack(gradients),
        "y": ys,
        "steps": steps,
        "good": good,
    }
