"""``hessian`` (forward over reverse) and ``hvp``, its products with vectors."""

from __future__ import annotations

from typing import Any

import jax

from app.compute.calls.call import Call
from app.compute.programs import coloured
from app.compute.verbs.verb import Verb


def hessian(call: Call) -> Any:
    """Second derivatives of a scalar function: one tree of ``wrt`` inside another."""
    if call.plan is not None:
        return coloured.compute(call, call.plan, "hessian")
    call.require_dense("hessian")
    gradient = gradient_of(call, "hessian")
    if call.wrt.single:
        return jax.jacfwd(lambda x: gradient(x)[0], holomorphic=call.holomorphic)(*call.points)
    argnums = tuple(range(len(call.points)))
    return jax.jacfwd(gradient, argnums, holomorphic=call.holomorphic)(*call.points)


def hvp(call: Call) -> Any:
    """Hessian-vector products, without the Hessian: one, or many along a leading axis."""
    gradient = gradient_of(call, "hvp")

    def product(vectors: list[Any]) -> Any:
        return jax.jvp(gradient, call.points, tuple(vectors))[1]

    vectors = call.along("vectors", call.varied)
    products = jax.vmap(product)(vectors) if call.batch else product(vectors)
    return call.pack(products)


def gradient_of(call: Call, verb: str) -> Any:
    """The gradient as a function of the ``wrt`` arguments: a tuple, one tree each."""
    call.require_differentiable()
    call.require_scalar(verb)
    return jax.grad(
        lambda *points: jax.tree.leaves(call.at(*points))[0],
        tuple(range(len(call.points))),
        holomorphic=call.holomorphic,
    )


VERBS = (
    Verb(
        "hessian",
        hessian,
        options=frozenset({"wrt", "holomorphic", "sparse"}),
        plan=lambda call: coloured.plan(call, "hessian"),
    ),
    Verb("hvp", hvp, "vectors", frozenset({"wrt", "holomorphic", "batch"}), gradients=""),
)
