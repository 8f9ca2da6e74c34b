"""``vmap`` around a verb: which axis of each argument is mapped, and the shapes of one example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from app.compute.calls.arguments import Arguments, listed
from app.compute.programs.leaves import batch_of, is_sparse, matrices
from app.core.errors import InvalidArgument

POINTER = "/vmap/in_axes"


@dataclass(frozen=True, slots=True)
class Axes:
    """The mapped axis of every argument leaf (None: shared), in flat order, and of the result."""

    leaves: tuple[int | None, ...]
    out: Any
    size: int

    @classmethod
    def of(cls, vmap: Mapping[str, Any], arguments: Arguments) -> Axes:
        """Read ``{"in_axes": ..., "out_axes": ...}`` and check it against the arguments."""
        if not isinstance(vmap, Mapping) or not set(vmap) <= {"in_axes", "out_axes"}:
            raise InvalidArgument(
                "vmap is an object with in_axes and out_axes",
                pointer="/vmap",
                hint='{"in_axes": [null, 0], "out_axes": 0}',
            )
        given = vmap.get("in_axes", 0)
        spread = [
            axis
            for name, tree, axes in zip(
                arguments.names, arguments.trees, _per_argument(given, arguments), strict=True
            )
            for axis in _spread(axes, tree, name)
        ]
        size = _size(spread, arguments)
        return cls(tuple(spread), vmap.get("out_axes", 0), size)

    def example(self, trees: Sequence[Any]) -> list[Any]:
        """Abstract values of one example: each mapped axis taken out."""
        leaves, treedef = jax.tree.flatten(list(trees))
        inner = [
            jax.ShapeDtypeStruct(drop(leaf.shape, axis), leaf.dtype)
            for leaf, axis in zip(leaves, self.leaves, strict=True)
        ]
        return jax.tree.unflatten(treedef, inner)

    def put_back(self, tree: Any, inputs: Sequence[Any], like: Sequence[int | None]) -> Any:
        """A mapped result whose matrices have again the pattern of the input that they are like.

        ``vmap`` gives every example a copy of a pattern that all of them share.
        Raise ``InvalidArgument`` where a matrix is to be mapped at another axis than the first.
        """
        if not like:
            return tree
        if self.out != 0:
            raise InvalidArgument(
                "a sparse matrix in a result is mapped at axis 0 alone: it becomes a batch",
                pointer="/vmap/out_axes",
                hint="leave out_axes out, or return A.todense()",
            )
        given, rest = matrices(list(inputs)), iter(like)

        def patterned(leaf: Any) -> Any:
            source = next(rest) if is_sparse(leaf) else None
            return leaf if source is None else replace(given[source], values=leaf.values)

        return jax.tree.map(patterned, tree, is_leaf=is_sparse)


def drop(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    """``shape`` without ``axis``."""
    if axis is None:
        return shape
    place = axis % len(shape)
    return shape[:place] + shape[place + 1 :]


def _per_argument(given: Any, arguments: Arguments) -> list[Any]:
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in arguments.names]
        if unknown:
            raise InvalidArgument(
                f"in_axes names {listed(unknown)}, not an argument given",
                pointer=f"{POINTER}/{unknown[0]}",
                hint=f"the arguments are {listed(arguments.names)}",
            )
        return [given.get(name) for name in arguments.names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(arguments.names):
            raise InvalidArgument(
                f"in_axes has {len(given)} entries for {len(arguments.names)} arguments",
                pointer=POINTER,
            )
        return list(given)
    return [given] * len(arguments.names)


def _spread(axes: Any, tree: Any, name: str) -> list[int | None]:
    """The axis of each leaf of ``tree``, from an axis for all or a tree of them."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        leaves = jax.tree.leaves(tree, is_leaf=is_sparse)
        return [axis for leaf in leaves for axis in _checked(axes, leaf, name)]
    if isinstance(axes, Mapping) and isinstance(tree, Mapping) and set(axes) == set(tree):
        return [axis for key in sorted(tree) for axis in _spread(axes[key], tree[key], name)]
    if isinstance(axes, (list, tuple)) and isinstance(tree, list) and len(axes) == len(tree):
        pairs = zip(axes, tree, strict=True)
        return [axis for each, branch in pairs for axis in _spread(each, branch, name)]
    raise InvalidArgument(
        f"the in_axes entry for {name} is neither an axis, null, nor a tree like it",
        pointer=POINTER,
        hint="an axis number maps over it, null shares it",
    )


def _checked(axis: int | None, leaf: Any, name: str) -> list[int | None]:
    """``axis`` for each buffer of a leaf."""
    if is_sparse(leaf):
        return [_checked_batch(axis, leaf, name)] * len(jax.tree.leaves(leaf))
    if axis is not None and not -len(leaf.shape) <= axis < len(leaf.shape):
        shape = list(leaf.shape)
        raise InvalidArgument(
            f"{name} has shape {shape}: there is no axis {axis} to map over",
            pointer=POINTER,
            hint="use null in in_axes to share an argument between examples",
        )
    return [axis]


def _checked_batch(axis: int | None, matrix: Any, name: str) -> int | None:
    """The axis of a batch of matrices, counted from the front."""
    if axis is None:
        return None
    batch = batch_of(matrix)
    shape = [*batch, *matrix.shape]
    place = axis + len(shape) if axis < 0 else axis
    if not 0 <= place < len(batch):
        what = f"a batch of {batch[0]} sparse matrices" if batch else "one sparse matrix"
        raise InvalidArgument(
            f"{name} is {what}, of shape {shape}: axis {axis} is none of a batch",
            pointer=POINTER,
            hint="map over axis 0 of a bcoo or bcsr with a leading axis, or share with null; "
            "A.todense() has rows to map over within the function",
        )
    return place


def _size(axes: Sequence[int | None], arguments: Arguments) -> int:
    leaves = jax.tree.leaves(list(arguments.trees))
    sizes = {leaf.shape[axis] for leaf, axis in zip(leaves, axes, strict=True) if axis is not None}
    if not sizes:
        raise InvalidArgument(
            "vmap maps over no argument", pointer=POINTER, hint="give at least one an axis"
        )
    if len(sizes) > 1:
        found = ", ".join(map(str, sorted(sizes)))
        raise InvalidArgument(f"the mapped axes have different sizes: {found}", pointer=POINTER)
    return sizes.pop()
