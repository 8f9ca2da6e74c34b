"""The gradient of a loss of the solution of an ode call, in ``wrt``: y0, parameters or both.

Differentiated through the steps, or by the adjoint equation; see ``march``. Where ``auto`` finds
the problem stiff, it is solved by the implicit method instead.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls import results
from app.compute.calls.call import Call
from app.compute.programs.leaves import with_values
from app.compute.solvers import options as read
from app.compute.solvers.ode.integration import Integration
from app.compute.solvers.ode.integrators import RungeKutta
from app.compute.solvers.ode.march import Marched, march, march_back
from app.compute.solvers.ode.ode import build, method, methods
from app.compute.solvers.ode.right_side import RightSide
from app.compute.solvers.outcomes import Outcome
from app.core.errors import InvalidArgument

ADJOINTS = ("checkpoint", "backsolve")
STEPS = 16_384


def gradient(call: Call) -> dict[str, Any]:
    """Value, gradient, solution, steps and outcome.

    ``loss`` names a function of the source, of y(t1), or of all save points where ``ts`` is given.
    """
    call.require_differentiable()
    solver = build(call)
    if len(solver.steppers) == 1:
        return _by(call, 0)
    return jax.lax.cond(solver.is_stiff(), lambda: _by(call, 1), lambda: _by(call, 0))


def _by(call: Call, which: int) -> dict[str, Any]:
    """Everything, by one of the methods."""
    loss = read.function(call, call.options["loss"], "/loss")

    def value(*points: Any) -> tuple[Any, Any]:
        args = list(call.args)
        for position, point in zip(call.wrt.positions, points, strict=True):
            args[position] = with_values(args[position], point)
        moved = replace(call, arguments=call.arguments.with_trees(args))
        solver, side = build(moved), RightSide.of(moved)
        save = solver.times.save
        ends = jnp.concatenate([save, solver.times.end[None]])
        ys, steps, good = _march(moved, side, solver, which, ends)
        kept = jax.vmap(side.restore)(ys[:-1][solver.times.place])
        shown = kept if save.size else side.restore(ys[-1])
        number = results.arrays(loss(shown))
        if getattr(number, "size", None) != 1:
            raise InvalidArgument("the loss is one number", pointer="/loss")
        read.require_real_numbers(number, "/loss")
        if not jnp.issubdtype(number.dtype, jnp.floating):
            raise InvalidArgument(
                f"the loss is {number.dtype}: it has no gradient",
                pointer="/loss",
                hint="return a floating number: a comparison or an index has no derivative",
            )
        return jnp.reshape(number, ()), (good & solver.times.good, shown, steps)

    argnums = tuple(range(len(call.points)))
    differentiate = jax.value_and_grad(value, argnums, has_aux=True)
    (number, (good, ys, steps)), gradients = differentiate(*call.points)
    return {
        "value": number,
        "grad": call.pack(gradients),
        "y": ys,
        "steps": steps,
        "outcome": jnp.where(good, Outcome.END, Outcome.LIMIT).astype(jnp.int32),
    }


def _march(
    call: Call, side: RightSide, solver: Integration, which: int, ends: Any
) -> tuple[Any, Any, Any]:
    """The solution at ``ends``, the steps, and whether it came so far."""
    stepper, times, control = solver.steppers[which], solver.times, solver.control
    backwards = read.one_of(call.options, "adjoint", ADJOINTS, "checkpoint") == "backsolve"
    if backwards and not isinstance(stepper, RungeKutta):
        raise InvalidArgument("backsolve is for adaptive methods", pointer="/adjoint")
    most = read.count(call.options, "max_steps", STEPS)
    name = methods(method(call), control)[which] if backwards else ""

    def f(t: Any, y: Any, parameters: Any) -> Any:
        direction, rest = parameters
        return direction * side.f(direction * t, y, rest)

    def stretch(now: Marched, end: Any) -> tuple[Marched, Any]:
        if not backwards:
            now = march(stepper, control, now, end, most)
        else:
            make = partial(RungeKutta.of, name)
            parameters = (times.direction, list(call.args[1:]))
            now = march_back(make, f, control, parameters, now, end, most)
        return now, now.y

    first = jax.lax.stop_gradient(solver.init().size)
    now, ys = jax.lax.scan(stretch, Marched.at(times.start, solver.y0, first), ends)
    return ys, now.steps, (now.t >= times.end) & jnp.all(jnp.isfinite(now.y))
