"""``grad`` and ``value_and_grad`` of a scalar function, by reverse mode."""

from __future__ import annotations

from typing import Any

import jax

from app.compute.calls.call import Call
from app.compute.verbs.verb import Verb


def value_and_grad(call: Call) -> dict[str, Any]:
    """The value, and its gradient in the tree shape of each ``wrt`` argument.

    For complex input the gradient is JAX's: df/dx - i df/dy.
    """
    call.require_differentiable()
    call.require_scalar("grad")
    argnums = tuple(range(len(call.points)))
    differentiate = jax.value_and_grad(
        lambda *points: jax.tree.leaves(call.at(*points))[0],
        argnums,
        holomorphic=call.holomorphic,
    )
    value, gradients = differentiate(*call.points)
    out = jax.tree.unflatten(jax.tree.structure(call.staged.out), [value])
    return {"value": out, "grad": call.pack(gradients)}


def grad(call: Call) -> Any:
    """The gradient alone."""
    return value_and_grad(call)["grad"]


OPTIONS = frozenset({"wrt", "holomorphic"})

VERBS = (
    Verb("grad", grad, options=OPTIONS, gradients=""),
    Verb("value_and_grad", value_and_grad, options=OPTIONS, gradients="grad"),
)
