"""The right side of an ode call on flat vectors: y' = f(t, y), its noise, its halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from app.compute.calls import results
from app.compute.calls.call import Call
from app.compute.solvers import options as read
from app.core.errors import InvalidArgument
from app.sparse.jacobian import plan_jacobian


@dataclass(frozen=True)
class RightSide:
    """``y0`` (n,), the way back to the client's tree, and ``f(t, y, parameters)``."""

    y0: Any
    restore: Callable[[Any], Any]
    f: Callable[[Any, Any, Any], Any]

    @classmethod
    def of(cls, call: Call) -> RightSide:
        """Read f(t, y, *parameters), whose result has the shapes of y."""
        if not call.args:
            raise InvalidArgument("ode needs the initial value y0", pointer="/args")
        start = call.args[0]
        y0, restore = ravel_pytree(start)
        if not jnp.issubdtype(y0.dtype, jnp.floating) or not y0.size:
            raise InvalidArgument(
                f"the initial value is {y0.dtype}{list(y0.shape)}: real floating numbers are "
                "needed",
                pointer=call.arguments.pointers[0],
            )
        read.require_real_numbers(call.staged.out, "/function")
        wanted = [leaf.shape for leaf in jax.tree.leaves(start)]
        given = [leaf.shape for leaf in jax.tree.leaves(call.staged.out)]
        if wanted != given:
            raise InvalidArgument(
                f"the function returns shapes {list(map(list, given))} for y of shapes "
                f"{list(map(list, wanted))}",
                pointer="/function",
                hint="dy/dt has the shape of y",
            )

        def f(t: Any, y: Any, parameters: Any) -> Any:
            slope = call.staged(jnp.asarray(t, y0.dtype), restore(y), *parameters)
            return ravel_pytree(slope)[0].astype(y0.dtype)

        return cls(y0, restore, f)


def noise(call: Call, side: RightSide) -> tuple[Callable[[Any, Any, Any], Any], int, bool]:
    """The function that ``noise`` names: g(t, y, *parameters), on flat vectors.

    Also how many Brownian motions it takes, and whether each drives one entry of y: where g has
    the shape of y. Else g has one more axis behind, with one column a motion.
    """
    function, size = read.function(call, call.options.get("noise"), "/noise"), side.y0.size

    def g(t: Any, y: Any, parameters: Any) -> Any:
        value = function(jnp.asarray(t, side.y0.dtype), side.restore(y), *parameters)
        leaves = jax.tree.leaves(results.arrays(value))
        read.require_real_numbers(leaves, "/noise")
        if len(leaves) == len(tree) and all(map(_alike, leaves, tree)):
            return ravel_pytree(leaves)[0].astype(side.y0.dtype)
        if len(leaves) == len(tree) == 1 and leaves[0].shape[:-1] == tree[0].shape:
            return jnp.reshape(leaves[0], (size, -1)).astype(side.y0.dtype)
        raise InvalidArgument(
            f"noise returns shapes {[list(leaf.shape) for leaf in leaves]} for y of shapes "
            f"{[list(leaf.shape) for leaf in tree]}",
            pointer="/noise",
            hint="the shape of y, or with one more axis: a column for each motion",
        )

    tree = jax.tree.leaves(call.args[0])
    shape = jax.eval_shape(g, jnp.zeros((), side.y0.dtype), side.y0, call.args[1:]).shape
    return g, shape[-1], len(shape) == 1


def _alike(leaf: Any, wanted: Any) -> bool:
    return leaf.shape == wanted.shape


def require_separable(call: Call) -> None:
    """Raise unless y is positions, then momenta, and each half's slope is of the other alone.

    Called before the trace, on abstract values.
    """
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), call.args[0])
    trees = (zeros, *call.args[1:])
    side = RightSide.of(replace(call, arguments=call.arguments.with_trees(trees)))
    size, half = side.y0.size, side.y0.size // 2
    leaves = jax.tree.leaves(zeros)
    first = leaves[0].shape[0] if len(leaves) == 1 and leaves[0].shape else 0
    pair = len(leaves) > 1 and len(zeros) == 2 and leaves[0].size == half
    if size % 2 or not (pair or (first % 2 == 0 and first)):
        raise InvalidArgument(
            "a symplectic method takes positions and momenta, as many of each",
            pointer=call.arguments.pointers[0],
            hint="y is [q, p], or one array whose first half holds positions",
        )
    flat = jax.ShapeDtypeStruct((size,), side.y0.dtype)
    scalar = jax.ShapeDtypeStruct((), side.y0.dtype)
    parameters, treedef = jax.tree.flatten(list(call.args[1:]))

    def slope(y: Any, t: Any, *leaves: Any) -> Any:
        return side.f(t, y, jax.tree.unflatten(treedef, leaves))

    plan = plan_jacobian(slope, flat, scalar, *parameters)
    rows = np.repeat(np.arange(size), np.diff(plan.indptr))
    own = (rows < half) == (plan.indices < half)
    if np.any(own):
        row, column = int(rows[own][0]), int(plan.indices[own][0])
        raise InvalidArgument(
            f"entry {row} of the slope depends on entry {column} of y: the system is not separable",
            pointer="/method",
            hint="q' may depend on p alone and p' on q alone; dopri8 takes any system",
        )
