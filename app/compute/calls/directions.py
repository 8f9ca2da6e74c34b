"""Lines up tangents, cotangents and vectors with what they belong to.

Each direction mirrors the tree, shape and (under ``vmap``) mapped axis of its target; ``batch``
puts one more axis in front. Missing parts (null) are zero. Nothing is broadcast silently.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls.mapping import drop
from app.compute.programs.leaves import batch_of, is_sparse
from app.core.errors import InvalidArgument
from app.sparse.matrix import SparseMatrix


@dataclass(frozen=True, slots=True)
class Target:
    """What one direction belongs to: its whole tree, and the mapped axis of each leaf.

    A sparse matrix is one leaf. ``axes`` is None for a leaf that is shared, or where nothing is
    mapped.
    """

    name: str
    tree: Any
    axes: tuple[int | None, ...]


@dataclass(frozen=True)
class Aligned:
    """Directions as flat arrays, the mapped axis of each, and how to put them together.

    Those of a matrix are matrices, on patterns of their own, or dense arrays.
    """

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
    if not is_sparse(given) and getattr(given, "shape", ())[:1] == (count,):
        readings.append(list(_rows(given, count)))
    return readings


def _rows(given: Any, count: int) -> Iterator[Any]:
    return (given[place] for place in range(count))


def _is_leaf(tree: Any) -> bool:
    return hasattr(tree, "shape")


def _fit(reading: Sequence[Any], targets: Sequence[Target], batch: bool) -> Aligned:
    matched: list[tuple[Any, Any, int | None]] = []
    for tree, target in zip(reading, targets, strict=True):
        leaves = jax.tree.leaves(target.tree, is_leaf=is_sparse)
        pairs = iter(list(zip(leaves, target.axes, strict=True)))
        matched += [(part, *next(pairs)) for part in _parts(tree, target.tree, target.name)]
    count = _count(matched) if batch else None
    placed: list[Any] = []
    axes: list[int | None] = []
    for part, leaf, axis in matched:
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            if part is not None:
                raise _MismatchError(
                    f"an input of dtype {leaf.dtype} takes no direction: send null"
                )
            placed.append(None)
            continue
        direction, mapped = _placed(part, leaf, axis, count)
        placed.append(direction)
        axes += [mapped] * len(jax.tree.leaves(direction))
    structure = jax.tree.structure([target.tree for target in targets], is_leaf=is_sparse)
    arrays, treedef = jax.tree.flatten(jax.tree.unflatten(structure, placed))
    return Aligned(arrays, axes, treedef)


def _parts(given: Any, target: Any, name: str) -> list[Any]:
    """The given leaf (or None) for each leaf of the target, in order."""
    if given is None:
        return [None] * len(jax.tree.leaves(target, is_leaf=is_sparse))
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
    shapes = [_shape(part) for part, *_ in matched if part is not None]
    counts = {shape[0] for shape in shapes if shape}
    if len(counts) != 1:
        raise _MismatchError("with batch, every direction has one leading axis of the same size")
    return counts.pop()


def _placed(part: Any, leaf: Any, axis: int | None, count: int | None) -> tuple[Any, int | None]:
    """The direction of one leaf, cast to its type, with the axis that ``vmap`` maps."""
    lead = () if count is None else (count,)
    whole = _shape(leaf)
    shared = lead + drop(whole, axis)
    if part is None:
        return _zero(leaf, lead, shared), None
    if jnp.issubdtype(part.dtype, jnp.complexfloating) and not jnp.iscomplexobj(leaf):
        raise _MismatchError("a complex direction was given where the value is real")
    given = _shape(part)
    if is_sparse(part) and not is_sparse(leaf):
        raise _MismatchError("a sparse direction was given where the value is a dense array")
    if given == lead + whole:
        mapped = axis if axis is None or axis < 0 else axis + len(lead)
        return _cast(part, leaf.dtype), mapped
    if given == shared:
        return _cast(part, leaf.dtype), None
    raise _MismatchError(
        f"a direction has shape {list(given)} where {list(lead + whole)} is needed"
    )


def _shape(leaf: Any) -> tuple[int, ...]:
    """The shape as the client sees it: that of a matrix with its batch."""
    return (*batch_of(leaf), *leaf.shape) if is_sparse(leaf) else tuple(leaf.shape)


def _cast(part: Any, dtype: Any) -> Any:
    if is_sparse(part):
        return replace(part, values=part.values.astype(dtype))
    return part.astype(dtype)


def _zero(leaf: Any, lead: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The direction 0: of a matrix one without entries."""
    if not is_sparse(leaf):
        return jnp.zeros(shape, leaf.dtype)
    empty = jnp.zeros((*lead, 0), jnp.int32)
    indptr = jnp.zeros((*lead, leaf.shape[0] + 1), jnp.int32)
    return SparseMatrix(empty.astype(leaf.dtype), empty, indptr, leaf.shape)


def _shapes(tree: Any) -> str:
    leaves = jax.tree.leaves(tree, is_leaf=is_sparse)
    return ", ".join(str(list(_shape(leaf))) for leaf in leaves) or "nothing"
