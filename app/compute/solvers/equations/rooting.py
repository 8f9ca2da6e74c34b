"""``root`` and ``fixed_point``: read the call and choose the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from app.compute.calls.call import Call
from app.compute.solvers import options as read
from app.compute.solvers.box import Box
from app.compute.solvers.equations import fixed_point
from app.compute.solvers.equations.bisection import Bisection
from app.compute.solvers.equations.fixed_point import FixedPoint
from app.compute.solvers.equations.least_squares import LeastSquares
from app.compute.solvers.equations.root import GlobalNewton, Secant
from app.compute.solvers.machine import Machine
from app.compute.solvers.unknowns import Unknowns
from app.core.errors import InvalidArgument

METHODS = ("newton", "broyden", "chord", "bisection")


def build_root(call: Call) -> Machine:
    """The machine of a root problem; ``bracket`` asks for bisection."""
    unknowns, function, size = _mapping(call, "root")
    if size != unknowns.start.size:
        raise InvalidArgument(
            f"the function returns {size} numbers for {unknowns.start.size} unknowns",
            pointer="/function",
            hint="root needs as many equations as unknowns; least_squares takes more",
        )
    bracketed = call.options.get("bracket") is not None
    default = "bisection" if bracketed else "newton"
    method = read.one_of(call.options, "method", METHODS, default)
    if method != "newton":
        read.unused(call, ("bounds",), f"means nothing to {method}", "use method newton")
    if method == "bisection":
        why, hint = "means nothing to bisection", "it halves the bracket to the last bit"
        read.unused(call, ("tol", "max_steps"), why, hint)
        return Bisection(function, unknowns, *_bracket(call, unknowns))
    read.unused(
        call, ("bracket",), f"means nothing to {method}", "use bisection, or newton in bounds"
    )
    tolerance = read.number(call.options, "tol", default_tolerance(unknowns.start.dtype))
    steps = read.count(call.options, "max_steps", 1000)
    box = read.box_or_space(call.options, unknowns.start)
    return root_finder(method, function, unknowns, box, tolerance, steps)


def default_tolerance(dtype: Any) -> float:
    """The largest value allowed beside the terms it is made of, where ``tol`` says nothing."""
    return 1e-9 if dtype == jnp.float64 else 1e-5


def root_finder(
    method: str,
    function: Callable[[Any], Any],
    unknowns: Unknowns,
    box: Box,
    tolerance: float,
    steps: int,
) -> GlobalNewton | Secant:
    """The machine of newton, broyden or chord."""
    if method == "newton":
        eps = float(jnp.finfo(unknowns.start.dtype).eps)
        fit = LeastSquares(function, box, "levenberg_marquardt", eps, steps)
        return GlobalNewton(fit, unknowns, tolerance)
    return Secant(function, unknowns, method == "broyden", tolerance, steps)


def build_fixed_point(call: Call) -> FixedPoint:
    """The machine of x = g(x)."""
    unknowns, function, size = _mapping(call, "fixed_point")
    if size != unknowns.start.size:
        raise InvalidArgument(
            f"the function maps {unknowns.start.size} numbers to {size}", pointer="/function"
        )
    method = read.one_of(call.options, "method", fixed_point.METHODS, "anderson")
    default = fixed_point.default_tolerance(unknowns.start.dtype)
    tolerance = read.number(call.options, "tol", default)
    steps = read.count(call.options, "max_steps", 10_000)
    return FixedPoint(function, unknowns, method == "anderson", tolerance, steps)


def _mapping(call: Call, verb: str) -> tuple[Unknowns, Any, int]:
    """The unknowns, the flat function of the flat unknowns, and the size of its result."""
    unknowns = Unknowns.of(call)
    call.require_real_output(verb)

    def function(x: Any) -> Any:
        return ravel_pytree(unknowns.function(x))[0].astype(x.dtype)

    flat, _ = ravel_pytree(_zeros(call.staged.out))
    return unknowns, function, flat.size


def _zeros(shapes: Any) -> Any:
    if isinstance(shapes, dict):
        return {name: _zeros(branch) for name, branch in shapes.items()}
    if isinstance(shapes, (list, tuple)):
        return [_zeros(branch) for branch in shapes]
    return None if shapes is None else jnp.zeros(shapes.shape, shapes.dtype)


def _bracket(call: Call, unknowns: Unknowns) -> tuple[float, float]:
    if unknowns.start.size != 1:
        raise InvalidArgument(
            f"bisection takes one unknown, not {unknowns.start.size}",
            pointer="/bracket",
            hint="newton takes any number, also with bounds",
        )
    given = call.options.get("bracket")
    pair = given if isinstance(given, (list, tuple)) else ()
    ends = [float(end) for end in pair if isinstance(end, (int, float))]
    if len(pair) != 2 or len(ends) != 2:
        raise InvalidArgument("bracket is [low, high]", pointer="/bracket")
    low, high = ends
    if not -jnp.inf < low < high < jnp.inf:
        raise InvalidArgument(f"bracket {low}, {high}: low must be below high", pointer="/bracket")
    return low, high
