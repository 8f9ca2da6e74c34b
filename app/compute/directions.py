"""Lines up tangents, cotangents and vectors with what they belong to.

Each direction mirrors the tree, shape and (under ``vmap``) mapped axis of its target; ``batch``
puts one more axis in front. Missing parts (null) are zero. Nothing is broadcast silently.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.mapping import drop
from app.core.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Target:
    """What one direction belongs to: its whole tree, and the mapped axis of each leaf.

    ``axes`` is None for a leaf that is shared, or where nothing is mapped.
    """

    name: str
    tree: Any
    axes: tuple[int | None, ...]


@dataclass(frozen=True)
class Aligned:
    """Directions as flat arrays, the mapped axis of each, and how to put them together."""

    leaves: list[Any]
    axes: list[int | None]
    treedef: Any

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """A list with one tree per target; leaves that take no derivative are None."""
        return jax.tree.unflatten(self.treedef, leaves)


class _MismatchError(Exception):
    """A candidate reading of the directions does not fit its targets."""


def align(given: Any, targets: Sequence[Target], group: str, *, batch: bool) -> Aligned:
    """Read ``given`` by name, by position, or bare for a single target.

    Raise ``InvalidArgument`` with the shapes wanted when no reading fits.
    """
    problems = []
    for reading in _readings(given, targets):
        try:
            return _fit(reading, targets, batch)
        except _MismatchError as mismatch:
            problems.append(str(mismatch))
    raise InvalidArgument(
        problems[0] if problems else f"{group} does not match what it belongs to",
        pointer=f"/{group}",
        hint=f"{group} must have {'a leading axis, then ' if batch else ''}the shape of "
        + "; ".join(f"{target.name}: {_shapes(target.tree)}" for target in targets),
    )


def _readings(given: Any, targets: Sequence[Target]) -> list[list[Any]]:
    """Every way to split what was given over the targets, the likeliest first."""
    count = len(targets)
    readings: list[list[Any]] = []
    if isinstance(given, Mapping) and set(given) <= {target.name for target in targets}:
        readings.append([given.get(target.name) for target in targets])
    if isinstance(given, list) and len(given) == count:
        readings.append(given)
    if count == 1:
        readings.insert(0 if _is_leaf(given) else len(readings), [given])
    if getattr(given, "shape", ())[:1] == (count,):
        readings.append(list(_rows(given, count)))
    return readings


def _rows(given: Any, count: int) -> Iterator[Any]:
    return (given[place] for place in range(count))


def _is_leaf(tree: Any) -> bool:
    return hasattr(tree, "shape")


def _fit(reading: Sequence[Any], targets: Sequence[Target], batch: bool) -> Aligned:
    matched: list[tuple[Any, Any, int | None]] = []
    for tree, target in zip(reading, targets, strict=True):
        leaves = jax.tree.leaves(target.tree)
        pairs = iter(list(zip(leaves, target.axes, strict=True)))
        matched += [(part, *next(pairs)) for part in _parts(tree, target.tree, target.name)]
    count = _count(matched) if batch else None
    arrays, axes, places = [], [], []
    for part, leaf, axis in matched:
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            if part is not None:
                raise _MismatchError(
                    f"an input of dtype {leaf.dtype} takes no direction: send null"
                )
            places.append(None)
            continue
        array, mapped = _placed(part, leaf, axis, count)
        places.append(len(arrays))
        arrays.append(array)
        axes.append(mapped)
    trees = jax.tree.unflatten(jax.tree.structure([target.tree for target in targets]), places)
    return Aligned(arrays, axes, jax.tree.structure(trees))


def _parts(given: Any, target: Any, name: str) -> list[Any]:
    """The given leaf (or None) for each leaf of the target, in order."""
    if given is None:
        return [None] * len(jax.tree.leaves(target))
    if isinstance(target, Mapping):
        if not isinstance(given, Mapping) or not set(given) <= set(target):
            raise _MismatchError(f"{name} is an object with {', '.join(sorted(target))}")
        fields = target if isinstance(target, OrderedDict) else sorted(target)
        return [
            part for key in fields for part in _parts(given.get(key), target[key], f"{name}.{key}")
        ]
    if isinstance(target, (list, tuple)):
        if not isinstance(given, (list, tuple)) or len(given) != len(target):
            raise _MismatchError(f"{name} is a list of {len(target)}")
        pairs = enumerate(zip(given, target, strict=True))
        return [part for at, pair in pairs for part in _parts(*pair, f"{name}[{at}]")]
    if target is None:
        raise _MismatchError(f"{name} is null")
    if not _is_leaf(given):
        raise _MismatchError(f"{name} is one array")
    return [given]


def _count(matched: Sequence[tuple[Any, Any, int | None]]) -> int:
    counts = {part.shape[0] for part, *_ in matched if part is not None and part.ndim}
    if len(counts) != 1:
        raise _MismatchError("with batch, every direction has one leading axis of the same size")
    return counts.pop()


def _placed(part: Any, leaf: Any, axis: int | None, count: int | None) -> tuple[Any, int | None]:
    """The direction of one leaf, cast to its type, with the axis that ``vmap`` maps."""
    lead = () if count is None else (count,)
    shared = lead + drop(leaf.shape, axis)
    if part is None:
        return jnp.zeros(shared, leaf.dtype), None
    if jnp.iscomplexobj(part) and not jnp.iscomplexobj(leaf):
        raise _MismatchError("a complex direction was given where the value is real")
    if part.shape == lead + leaf.shape:
        mapped = axis if axis is None or axis < 0 else axis + len(lead)
        return part.astype(leaf.dtype), mapped
    if part.shape == shared:
        return part.astype(leaf.dtype), None
    raise _MismatchError(
        f"a direction has shape {list(part.shape)} where {list(lead + leaf.shape)} is needed"
    )


def _shapes(tree: Any) -> str:
    return ", ".join(str(list(leaf.shape)) for leaf in jax.tree.leaves(tree)) or "nothing"
