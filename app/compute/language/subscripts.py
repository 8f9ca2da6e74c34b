"""Indexing, by exact type of what is indexed; static indices of arrays are checked as NumPy does.

JAX clamps an index that is out of bounds. Where both index and size are known while tracing, that
would be a wrong number without a word, so it is refused.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import jax

from app.compute.derivatives.rules import OVERRIDES
from app.compute.language import guard, sizes
from app.compute.language.describe import describe
from app.compute.language.messages import near
from app.compute.language.records import Record
from app.compute.language.values import (
    ArrayType,
    AtPlace,
    AtView,
    DType,
    Ignored,
    Indexer,
    Native,
)
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

INDEX_ATOMS = (int, bool, type(None), type(Ellipsis), slice)


def subscript(run: Evaluator, value: Any, index: Any) -> Any:
    """``value[index]``."""
    kind = type(value)
    if guard.is_array(value):
        checked = array_index(run, index, value.shape)
        return run.host("operator.getitem", OVERRIDES["operator.getitem"], [value, checked])
    if run.sparse.is_sparse(value):
        return run.host("operator.getitem", operator.getitem, [value, index])
    if kind is Record and value.type.is_tuple:
        value, kind = value.values, tuple
    if kind in (list, tuple, str, range):
        return _item(run, value, index)
    if kind is dict:
        return _entry(run, value, index)
    if kind is AtView:
        return AtPlace(value.array, array_index(run, index, value.array.shape))
    if kind is Indexer:
        return run.host(value.name, lambda given: value.value[given], [index])
    if kind in (Ignored, ArrayType, DType) or (kind is Native and value.python_type):
        return Ignored("annotation")
    raise InvalidArgument(f"{describe(value)} cannot be indexed")


def _item(run: Evaluator, sequence: Any, index: Any) -> Any:
    if guard.is_array(index):
        if guard.is_traced(index) or index.ndim:
            raise RefusedSource(
                f"{describe(sequence)} is indexed by a value known only when the program runs",
                hint="use jnp.array(…)[i] for numbers, or lax.switch for functions",
            )
        index = int(index)
    if type(index) not in (int, bool, slice):
        raise InvalidArgument(f"{describe(sequence)} is indexed by integers, not {describe(index)}")
    if type(index) is slice:
        _check_static(sequence, index)
    try:
        found = sequence[index]
    except (IndexError, TypeError, ValueError):
        raise InvalidArgument(f"there are {len(sequence)} items, no item {_shown(index)}") from None
    if type(found) in (list, tuple):
        sizes.checked_length(run, len(found))
    return found


def _check_static(sequence: Any, index: slice) -> None:
    for bound in (index.start, index.stop, index.step):
        if bound is not None and type(bound) not in (int, bool):
            raise RefusedSource(
                f"a slice of {describe(sequence)} needs static integers as bounds",
                hint="use an array and lax.dynamic_slice_in_dim",
            )


def _shown(index: Any) -> str:
    return str(index)[:60]


def _entry(run: Evaluator, mapping: dict[Any, Any], key: Any) -> Any:
    key = guard.enter_key(run, key)
    if key not in mapping:
        texts = [name for name in mapping if type(name) is str]
        hint = near(key, texts) if type(key) is str else None
        raise InvalidArgument(f"the dict has no key {_shown(key)!r}", hint=hint)
    return mapping[key]


def array_index(run: Evaluator, index: Any, shape: tuple[int, ...]) -> Any:
    """An index fit for an array of ``shape``; static integers are checked against it."""
    parts = index if type(index) is tuple else (index,)
    if len(parts) > 2 * run.limits.rank:
        raise InvalidArgument("the index has too many parts")
    checked = tuple(_index_part(run, part) for part in parts)
    _check_bounds(checked, shape)
    return checked if type(index) is tuple else checked[0]


def _index_part(run: Evaluator, part: Any) -> Any:
    if guard.is_array(part):
        if jax.numpy.issubdtype(part.dtype, jax.numpy.floating):
            raise InvalidArgument(
                "an index must be an integer, but this one is floating point",
                hint="bare numbers of a request are floating point; send the index as "
                '{"dtype": "int64", "shape": [], "data": [2]}, or write i.astype(int)',
            )
        return part
    if type(part) in INDEX_ATOMS:
        return part
    if type(part) is list:
        return run.call(run.registry.bare["array"], [part], {"dtype": None} if part else {})
    raise InvalidArgument(
        f"an array is indexed by integers, slices and arrays, not {describe(part)}",
        hint="fields and keys are of dicts and records" if type(part) is str else None,
    )


def _check_bounds(parts: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    for axis, part in enumerate(parts):
        simple = type(part) in (int, slice)
        if not simple:
            return
        if axis >= len(shape):
            raise InvalidArgument(
                f"too many indices: the array has {len(shape)} "
                f"dimension{'' if len(shape) == 1 else 's'}"
            )
        if type(part) is int and not -shape[axis] <= part < shape[axis]:
            raise InvalidArgument(
                f"index {part} is out of bounds for axis {axis} with size {shape[axis]}"
            )
