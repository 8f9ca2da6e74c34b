"""The ``wrt`` arguments of a call as one flat vector, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from app.compute.call import Call
from app.core.errors import InvalidArgument

SHOWN_UNKNOWNS = 16
"""So many unknowns at most are told while a solver runs."""


@dataclass(frozen=True)
class Unknowns:
    """``start`` (n,), the function of such a vector, and ``pack``: back to the client's tree."""

    start: Any
    pack: Callable[[Any], Any]
    function: Callable[[Any], Any]
    trees: Callable[[Any], tuple[Any, ...]]

    @classmethod
    def of(cls, call: Call) -> Unknowns:
        """Flatten the ``wrt`` arguments; they must be real floating numbers."""
        require_real(call)
        start, restore = ravel_pytree(list(call.points))
        if not start.size:
            raise InvalidArgument("there is nothing to solve for: the unknown is empty",
                                  pointer="/args")  # fmt: skip

        def pack(x: Any) -> Any:
            return call.wrt.pack(restore(x))

        def function(x: Any) -> Any:
            return call.at(*restore(x))

        return cls(start, pack, function, lambda x: tuple(restore(x)))


def shown(x: Any) -> dict[str, Any]:
    """The iterate (n,) as progress tells it: ``x``, left out where it is too long to plot."""
    return {"x": x} if x.size <= SHOWN_UNKNOWNS else {}


def require_real(call: Call) -> None:
    """Raise ``InvalidArgument`` unless every unknown is a real floating number."""
    call.require_differentiable()
    for position in call.wrt.positions:
        for leaf in jax.tree.leaves(call.args[position]):
            if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
                raise InvalidArgument(
                    f"{call.arguments.names[position]} is complex: solvers take real unknowns",
                    pointer=call.arguments.pointers[position],
                    hint="take the real and imaginary parts as two arguments",
                )
