"""``jvp`` and ``vjp``: the derivative applied to tangents, or pulled back from cotangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls.call import Call
from app.compute.programs.leaves import values_of, with_values
from app.compute.verbs.verb import Verb


def jvp(call: Call) -> dict[str, Any]:
    """The value, and the derivative along one tangent or each of many."""
    points, function = differentiable(call)
    tangents = jax.tree.leaves(call.along("tangents", call.varied))

    def push(tangents: list[Any]) -> Any:
        value, tangent = jax.jvp(function, (points,), (tangents,))
        return with_values(value, values_of(tangent))

    tangent = jax.vmap(push)(tangents) if call.batch else push(tangents)
    return {"value": function(points), "tangent": tangent}


def vjp(call: Call) -> dict[str, Any]:
    """The value, and the cotangent of each argument pulled back from one cotangent, or many.

    Arguments that take no derivative (integers) get null.
    """
    points, function = differentiable(call)

    def floating(points: list[Any]) -> tuple[list[Any], Any]:
        out = function(points)
        return [y for y in jax.tree.leaves(out) if jnp.issubdtype(y.dtype, jnp.inexact)], out

    _, pull, value = jax.vjp(floating, points, has_aux=True)
    given = jax.tree.leaves(call.along("cotangents", [value]))
    pulled = (jax.vmap(pull) if call.batch else pull)(given)[0]
    return {"value": value, "cotangents": call.pack(_restore(call, pulled))}


def differentiable(call: Call) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The floating leaves of the ``wrt`` arguments, and the function of those alone."""
    leaves, treedef = jax.tree.flatten(list(call.points))
    places = [at for at, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact)]

    def function(points: list[Any]) -> Any:
        filled = list(leaves)
        for place, point in zip(places, points, strict=True):
            filled[place] = point
        return call.at(*jax.tree.unflatten(treedef, filled))

    return [leaves[place] for place in places], function


def _restore(call: Call, pulled: list[Any]) -> list[Any]:
    leaves, treedef = jax.tree.flatten(list(call.points))
    rest = iter(pulled)
    filled = [next(rest) if jnp.issubdtype(leaf.dtype, jnp.inexact) else None for leaf in leaves]
    return jax.tree.unflatten(treedef, filled)


OPTIONS = frozenset({"wrt", "batch"})

VERBS = (
    Verb("jvp", jvp, "tangents", OPTIONS),
    Verb("vjp", vjp, "cotangents", OPTIONS, gradients="cotangents"),
)
