"""The ``wrt`` arguments of a call as one flat vector, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from app.compute.calls.call import Call
from app.compute.solvers.options import require_real_numbers
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
            return call.pack(restore(x))

        def function(x: Any) -> Any:
            return call.at(*restore(x))

        return cls(start, pack, function, lambda x: tuple(restore(x)))

    @classmethod
    def inside(cls, f: Callable[..., Any], x0: Any, args: tuple[Any, ...]) -> Unknowns:
        """Of a function called inside another: ``x0`` is a tree of real numbers."""
        leaves = jax.tree.leaves(x0)
        if not leaves or not all(
            isinstance(leaf, (int, float, complex, np.generic, np.ndarray, jax.Array))
            for leaf in leaves
        ):
            raise InvalidArgument("x0 is a number, an array, or a list or dict of these")
        if any(jnp.iscomplexobj(leaf) for leaf in leaves):
            raise InvalidArgument("x0 is complex: solvers take real unknowns")
        start, restore = ravel_pytree(jax.tree.map(_real, x0))
        start = jax.lax.convert_element_type(start, start.dtype)
        if not start.size:
            raise InvalidArgument("there is nothing to solve for: x0 is empty")
        return cls(start, restore, lambda x: f(restore(x), *args), lambda x: (restore(x),))

    def scalar(self, verb: str) -> Callable[[Any], Any]:
        """The function as a real number of a flat vector; refused where it returns another."""
        shapes = self._real_results(verb)
        if [leaf.shape for leaf in shapes] != [()]:
            raise InvalidArgument(
                f"{verb} takes a function that returns one number; this returns shapes "
                f"{[list(leaf.shape) for leaf in shapes]!s:.80}"
            )
        return lambda x: jnp.asarray(jax.tree.leaves(self.function(x))[0], x.dtype)

    def vector(self, verb: str, *, square: bool = False) -> Callable[[Any], Any]:
        """The function's results as one flat vector; ``square``: as many as unknowns."""
        size = sum(leaf.size for leaf in self._real_results(verb))
        if not size:
            raise InvalidArgument(f"{verb} takes a function that returns numbers; this has none")
        if square and size != self.start.size:
            raise InvalidArgument(
                f"{verb} takes a function that returns as many numbers as x0 holds; "
                f"this returns {size} for {self.start.size}"
            )
        return lambda x: ravel_pytree(self.function(x))[0].astype(x.dtype)

    def _real_results(self, verb: str) -> list[Any]:
        shapes = jax.tree.leaves(jax.eval_shape(self.function, self.start))
        if any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in shapes):
            raise InvalidArgument(f"{verb} takes a function that returns real numbers")
        return shapes


def _real(leaf: Any) -> jax.Array:
    array = jnp.asarray(leaf)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def sizes(start: Any, x: Any) -> Any:
    """Of each unknown, here or at the start; beside the others where it is next to nothing."""
    size = jnp.maximum(jnp.abs(start), jnp.abs(x))
    largest = jnp.max(size)
    return jnp.maximum(size, jnp.where(largest > 0, jnp.finfo(x.dtype).eps ** 0.5 * largest, 1.0))


def shown(x: Any) -> dict[str, Any]:
    """The iterate (n,) as progress tells it: ``x``, left out where it is too long to plot."""
    return {"x": x} if x.size <= SHOWN_UNKNOWNS else {}


def require_real(call: Call) -> None:
    """Raise ``InvalidArgument`` unless every unknown is a real floating number, and no result
    complex."""
    call.require_differentiable()
    for position in call.wrt.positions:
        for leaf in jax.tree.leaves(call.args[position]):
            if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
                raise InvalidArgument(
                    f"{call.arguments.names[position]} is complex: solvers take real unknowns",
                    pointer=call.arguments.pointers[position],
                    hint="take the real and imaginary parts as two arguments",
                )
    require_real_numbers(call.staged.out, "/function")
