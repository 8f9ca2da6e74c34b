"""``jacobian``: every derivative of every output, by whichever mode costs less."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls.call import Call
from app.compute.programs import coloured
from app.compute.verbs.verb import Verb
from app.core.errors import InvalidArgument

MODES = ("auto", "forward", "reverse")


def jacobian(call: Call) -> Any:
    """The output's tree with, at each leaf, the tree of ``wrt``: shape (*output, *input)."""
    if call.plan is not None:
        return coloured.compute(call, call.plan, "jacobian")
    call.require_differentiable()
    call.require_dense("jacobian")
    mode = choose_mode(call)
    build = jax.jacfwd if mode == "forward" else jax.jacrev
    argnums: Any = 0 if call.wrt.single else tuple(range(len(call.points)))
    return build(call.at, argnums, holomorphic=call.holomorphic)(*call.points)


def choose_mode(call: Call) -> str:
    """The mode asked for; for ``auto``, forward when there are no more inputs than outputs.

    Without ``holomorphic``, forward mode needs real inputs and reverse mode real outputs.
    """
    mode = call.options.get("mode") or "auto"
    if mode not in MODES:
        raise InvalidArgument(
            f"mode {mode!r} is unknown", pointer="/mode", hint="one of auto, forward, reverse"
        )
    outputs = jax.tree.leaves(call.staged.out)
    inputs = jax.tree.leaves(call.points)
    possible = _possible(call, inputs, outputs)
    if mode == "auto":
        wide = sum(math.prod(x.shape) for x in inputs) > sum(math.prod(y.shape) for y in outputs)
        mode = "reverse" if wide else "forward"
        mode = mode if mode in possible or not possible else possible[0]
    if mode not in possible:
        raise InvalidArgument(
            f"{mode} mode does not fit: {_types(inputs)} in, {_types(outputs)} out",
            pointer="/mode",
            hint='complex functions need "holomorphic": true, or split real and imaginary parts',
        )
    return mode


def _possible(call: Call, inputs: list[Any], outputs: list[Any]) -> list[str]:
    for leaf in outputs:
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            raise InvalidArgument(
                f"jacobian needs floating-point results; the function returns {leaf.dtype}",
                pointer="/function",
                hint="return floats: a comparison or an index has no derivative",
            )
    if call.holomorphic:
        call.require_real_output("jacobian")
        return ["forward", "reverse"]
    modes = [("forward", inputs), ("reverse", outputs)]
    return [mode for mode, leaves in modes if not any(map(jnp.iscomplexobj, leaves))]


def _types(leaves: list[Any]) -> str:
    return ", ".join(sorted({str(leaf.dtype) for leaf in leaves})) or "nothing"


VERBS = (
    Verb(
        "jacobian",
        jacobian,
        options=frozenset({"wrt", "holomorphic", "mode", "sparse"}),
        plan=lambda call: coloured.plan(call, "jacobian"),
    ),
)
