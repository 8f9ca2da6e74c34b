"""``check_grads``: automatic derivatives against central differences, entry by entry.

Compiled as one program like any other. First order checks the Jacobian, second order the
derivatives of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from app.compute.calls.call import Call
from app.compute.verbs.hessian import gradient_of
from app.compute.verbs.jacobian import choose_mode
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument

ORDERS = (1, 2)
TOGETHER = 64
"""Entries up to which all differences are evaluated side by side; past it, one after another."""


def check_grads(call: Call) -> dict[str, Any]:
    """AD and finite differences of every entry, their largest differences, and a verdict.

    ``ad`` and ``finite_differences`` are trees like ``jacobian``'s (order 2: ``hessian``'s).
    Passes when every difference is within the cube root of the machine epsilon, relative to the
    larger of 1 and the largest derivative.
    """
    order = call.options.get("order", 1)
    if isinstance(order, bool) or order not in ORDERS:
        raise InvalidArgument(f"order {order!r} is neither 1 nor 2", pointer="/order")
    call.require_differentiable()
    call.require_dense("check_grads")
    flat, restore = ravel_pytree(list(call.points))
    _require_real(call, flat)
    function = _gradient(call, restore) if order == 2 else _value(call, restore)
    forward = order == 2 or choose_mode(call) == "forward"
    exact = (jax.jacfwd if forward else jax.jacrev)(function)(flat)
    numeric = central_differences(function, flat, _step(call, flat))
    rows = call.staged.out if order == 1 else call.wrt.pack(call.points)
    report = _compare(exact, numeric)
    blocks = {name: _blocks(report.pop(name), rows, call) for name in TREES}
    return {**blocks, **report}


TREES = ("ad", "finite_differences")


def _blocks(matrix: Any, rows: Any, call: Call) -> Any:
    """A matrix (outputs, inputs) as the tree of outputs, each holding the tree of inputs."""
    columns = call.wrt.pack(call.points)
    leaves, treedef = jax.tree.flatten(rows)
    parts, start = [], 0
    for leaf in leaves:
        block = matrix[start : start + leaf.size]
        parts.append(_columns(block, leaf.shape, columns))
        start += leaf.size
    return jax.tree.unflatten(treedef, parts)


def _columns(block: Any, shape: tuple[int, ...], columns: Any) -> Any:
    leaves, treedef = jax.tree.flatten(columns)
    parts, start = [], 0
    for leaf in leaves:
        part = block[:, start : start + leaf.size]
        parts.append(part.reshape(*shape, *leaf.shape))
        start += leaf.size
    return jax.tree.unflatten(treedef, parts)


def central_differences(function: Callable[[Any], Any], x: Any, step: Any) -> Any:
    """(f(x + h e) - f(x - h e)) / 2h for each unit vector e, as (outputs..., inputs).

    ``step`` has one h per entry; the difference actually made in x is divided by, not h.
    """

    def slope(at: Any) -> Any:
        above, below = x.at[at].add(step[at]), x.at[at].add(-step[at])
        return (function(above) - function(below)) / (above[at] - below[at])

    places = jnp.arange(x.size)
    slopes = jax.vmap(slope)(places) if x.size <= TOGETHER else jax.lax.map(slope, places)
    return jnp.moveaxis(slopes, 0, -1)


def _step(call: Call, x: Any) -> Any:
    """The client's ``eps``, or the cube root of the machine epsilon scaled to each entry."""
    eps = call.options.get("eps")
    if eps is None:
        root = jnp.finfo(x.dtype).eps ** (1 / 3)
        return (root * jnp.maximum(1.0, jnp.abs(x))).astype(x.dtype)
    if isinstance(eps, bool) or not isinstance(eps, (int, float)) or not eps > 0:
        raise InvalidArgument(f"eps {eps!r} is not a positive number", pointer="/eps")
    return jnp.full(x.shape, eps, x.dtype)


def _value(call: Call, restore: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: ravel_pytree(call.at(*restore(x)))[0]


def _gradient(call: Call, restore: Callable[[Any], Any]) -> Callable[[Any], Any]:
    gradient = gradient_of(call, "check_grads of order 2")
    return lambda x: ravel_pytree(gradient(*restore(x)))[0]


def _require_real(call: Call, flat: Any) -> None:
    leaves = [flat, *jax.tree.leaves(call.staged.out)]
    if any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in leaves):
        raise InvalidArgument(
            "check_grads takes real functions of real numbers",
            pointer="/function",
            hint="split complex values into real and imaginary parts",
        )
    call.require_real_output("check_grads")


def _compare(exact: Any, numeric: Any) -> dict[str, Any]:
    difference = jnp.abs(exact - numeric)
    scale = jnp.maximum(jnp.abs(exact), jnp.abs(numeric))
    relative = jnp.where(scale == 0, 0.0, difference / jnp.where(scale == 0, 1.0, scale))
    tolerance = float(jnp.finfo(exact.dtype).eps) ** (1 / 3)
    largest = jnp.max(scale, initial=1.0)
    return {
        "ad": exact,
        "finite_differences": numeric,
        "max_abs_error": jnp.max(difference, initial=0.0),
        "max_rel_error": jnp.max(relative, initial=0.0),
        "passed": jnp.all(difference <= tolerance * largest),
    }


VERBS = (Verb("check_grads", check_grads, options=frozenset({"wrt", "order", "eps"})),)
