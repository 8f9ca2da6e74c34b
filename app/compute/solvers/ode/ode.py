"""``ode``: reads the call f(t, y, *parameters), and makes an integration of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.compute.calls import results
from app.compute.calls.call import Call
from app.compute.solvers import options as read
from app.compute.solvers.ode.control import Control
from app.compute.solvers.ode.events import Event
from app.compute.solvers.ode.integration import Course, Integration
from app.compute.solvers.ode.integrators import ADAPTIVE, RungeKutta
from app.compute.solvers.ode.pieces import Dense
from app.compute.solvers.ode.right_side import RightSide, noise, require_separable
from app.compute.solvers.ode.steps import Stepper
from app.compute.solvers.ode.stochastic import STOCHASTIC, Brownian, Stochastic
from app.compute.solvers.ode.symplectic import SYMPLECTIC, Symplectic
from app.compute.solvers.ode.times import Times
from app.compute.solvers.seed import seed
from app.core.errors import InvalidArgument

DEFAULT_RTOL = {"float64": 1e-8, "float32": 1e-5}
DEFAULT_ATOL = {"float64": 1e-10, "float32": 1e-7}
METHODS = (*ADAPTIVE, *SYMPLECTIC, *STOCHASTIC)


def plan(call: Call) -> None:
    """Refuse, before the trace, a system that the method does not fit."""
    if method(call) in SYMPLECTIC:
        require_separable(call)


def method(call: Call) -> str:
    """The method's name: one of those for noise where there is noise, and of the others else."""
    noisy = call.options.get("noise") is not None
    name = read.one_of(call.options, "method", METHODS, "euler_maruyama" if noisy else "auto")
    if noisy != (name in STOCHASTIC):
        fitting = STOCHASTIC if noisy else (*ADAPTIVE, *SYMPLECTIC)
        raise InvalidArgument(
            f"{name} is {'not ' if noisy else ''}a method for equations with noise",
            pointer="/method",
            hint=f"one of {', '.join(fitting)}",
        )
    return name


def require_used(call: Call) -> None:
    """Refuse fields that would change nothing: of noise, of a gradient, of adaptive steps."""
    if call.options.get("noise") is None:
        read.unused(call, ("paths", "seed"), "means nothing without noise", "leave it out")
    if call.options.get("loss") is None:
        why, hint = "means nothing without a loss", "name the loss, or leave it out"
        read.unused(call, ("adjoint", "wrt"), why, hint)
    else:
        alone = ("event", "paths", "dense")
        read.unused(call, alone, "is not taken beside a loss", "leave one of them out")
    if method(call) not in ADAPTIVE:
        why = f"means nothing to {method(call)}, whose steps are of one size"
        read.unused(call, ("tol", "rtol", "atol"), why, "dt0 is that size")
    if call.options.get("rtol") is not None and call.options.get("atol") is not None:
        read.unused(call, ("tol",), "means nothing beside rtol and atol", "it stands for both")


def build(call: Call, path: Any = None) -> Integration:
    """The machine of a call; ``path`` is the key of the noise where it is not that of ``seed``."""
    side = RightSide.of(call)
    times = Times.of(call.directions, side.y0.dtype)

    def forward(t: Any, y: Any) -> Any:
        return times.direction * side.f(times.direction * t, y, call.args[1:])

    steppers = _steppers(call, forward, side, times, path)
    tolerance = control(call, side.y0)
    dense = Dense.of(call, methods(method(call), tolerance), side.y0.size)

    def answer(course: Course) -> dict[str, Any]:
        found: dict[str, Any] = {
            "t": times.direction * course.t,
            "y": side.restore(course.y),
            "steps": course.steps,
            "rejected": course.rejected,
            "outcome": course.outcome,
        }
        if times.save.size:
            found["ts"] = times.asked()
            found["ys"] = jax.vmap(side.restore)(course.saved[times.place])
        if dense is not None:
            count = course.steps - course.rejected
            pieces = dense.filled(course.pieces, count, course.t, course.y)
            coefficients = jax.vmap(jax.vmap(side.restore))(pieces.coefficients)
            found["dense"] = {"t": times.direction * pieces.t, "coefficients": coefficients}
        return found

    return Integration(
        forward, steppers, side.y0, times, _event(call, side, times), tolerance, step_size(call),
        read.count(call.options, "max_steps", 100_000), _is_timed(call), dense, answer,
    )  # fmt: skip


def step_size(call: Call) -> float | None:
    """``dt0``: the size of a fixed step, or of the first one."""
    return read.number(call.options, "dt0", 1.0) if "dt0" in call.options else None


def _steppers(
    call: Call, forward: Callable[[Any, Any], Any], side: RightSide, times: Times, path: Any
) -> tuple[Stepper, ...]:
    name = method(call)
    if name in SYMPLECTIC:
        return (Symplectic(forward, SYMPLECTIC[name]),)
    if name in STOCHASTIC:
        return (_stochastic(call, name, forward, side, times, path),)
    tolerance = control(call, side.y0)

    def own(t: Any, y: Any) -> Any:
        return side.f(t, y, call.args[1:])

    return tuple(
        RungeKutta.of(each, own, tolerance, times.direction) for each in methods(name, tolerance)
    )


def methods(name: str, tolerance: Control) -> list[str]:
    """The methods of an adaptive one's name: for ``auto`` an explicit and an implicit one."""
    if name != "auto":
        return [name]
    return ["dopri8" if tolerance.rtol < 1e-5 else "tsit5", "kvaerno5"]


def _stochastic(
    call: Call,
    name: str,
    forward: Callable[[Any, Any], Any],
    side: RightSide,
    times: Times,
    path: Any,
) -> Stochastic:
    given, count, diagonal = noise(call, side)

    def g(t: Any, y: Any) -> Any:
        return given(times.direction * t, y, call.args[1:])

    motion = Brownian(seed(call) if path is None else path, times.start, times.end, count)
    return Stochastic(name, forward, g, diagonal, motion)


def _is_timed(call: Call) -> bool:
    """Whether the right side depends on the time itself."""
    jaxpr = call.staged.closed.jaxpr
    time = jaxpr.invars[0]
    return any(time is each for equation in jaxpr.eqns for each in equation.invars)


def control(call: Call, y0: Any) -> Control:
    """The tolerances: ``atol`` is one for all entries of y, or one for each."""
    name = y0.dtype.name
    tol = call.options.get("tol")
    both = None if tol is None else read.number(call.options, "tol", 1.0)
    rtol = read.number(call.options, "rtol", both or DEFAULT_RTOL[name])
    floor = 10 * float(jnp.finfo(y0.dtype).eps)
    given = call.options.get("atol", both or DEFAULT_ATOL[name])
    atol = np.asarray(given, np.float64)
    if atol.shape not in ((), y0.shape) or not np.all((atol > 0) & np.isfinite(atol)):
        raise InvalidArgument(f"atol is a positive number, or {y0.size} of them", pointer="/atol")
    return Control(max(rtol, floor), atol.astype(y0.dtype))


def _event(call: Call, side: RightSide, times: Times) -> Event | None:
    """The function that the event names: g(t, y, *parameters), zero when it happens."""
    name = call.options.get("event")
    if name is None:
        return None
    function, parameters = read.function(call, name, "/event"), call.args[1:]

    def g(t: Any, y: Any) -> Any:
        value = results.arrays(function(times.direction * t, side.restore(y), *parameters))
        if getattr(value, "size", None) != 1:
            raise InvalidArgument("the event is one number", pointer="/event")
        read.require_real_numbers(value, "/event")
        return jnp.reshape(value, ()).astype(y.dtype)

    return Event(g)
