"""Values inside the server: dense arrays are numpy arrays, sparse ones ``SparseValue``.

A pytree is split once, at the edge, into a *structure* and flat *leaves*. The structure is what
JSON can say: a list of structures, an object of structures, ``None``, or an integer that is the
index of a leaf. Leaves and avals (abstract values: dtype, shape, layout, no data) are parallel.
This module never imports JAX.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

DTYPES: Mapping[str, np.dtype] = {
    **{
        name: np.dtype(name)
        for name in (
            "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
            "float16 float32 float64 complex64 complex128"
        ).split()
    },
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Every element type that may cross the wire, by name."""

_NAMES: Mapping[np.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}

LAYOUTS = ("dense", "coo", "csr", "csc", "bcoo", "bcsr")

Structure: TypeAlias = "list[Structure] | dict[str, Structure] | int | None"


@dataclass(frozen=True, slots=True)
class SparseValue:
    """A sparse array as the client laid it out: ``parts`` are dense arrays by their wire names.

    coo: row, col, values. csr, csc: indptr, indices, values. bcoo: indices (.., nse, ndim), values.
    bcsr: indptr, indices, values with leading batch dimensions.
    """

    layout: str
    shape: tuple[int, ...]
    parts: Mapping[str, np.ndarray]


Leaf: TypeAlias = np.ndarray | SparseValue


@dataclass(frozen=True, slots=True)
class Aval:
    """An abstract value: what a program is compiled for. ``nse`` only for sparse layouts."""

    dtype: str
    shape: tuple[int, ...]
    layout: str = "dense"
    nse: int | None = None

    def to_wire(self) -> list[Any]:
        """A list that msgpack can say; ``from_wire`` reads it back."""
        return [self.dtype, list(self.shape), self.layout, self.nse]

    @classmethod
    def from_wire(cls, wire: Sequence[Any]) -> Aval:
        """The aval that ``to_wire`` wrote."""
        dtype, shape, layout, nse = wire
        return cls(dtype, tuple(shape), layout, nse)


def dtype_name(dtype: np.dtype) -> str:
    """The wire's name of a dtype; numpy composes its own anew at every asking."""
    return _NAMES.get(dtype) or dtype.name


def span(shape: Sequence[int]) -> int:
    """The entries of a shape, empty dimensions counted as one.

    What a bound on arrays counts: compilers walk the other dimensions of an empty array too.
    """
    return math.prod(size or 1 for size in shape)


def aval_of(leaf: np.ndarray) -> Aval:
    """The abstract value of a dense leaf."""
    return Aval(dtype_name(leaf.dtype), leaf.shape)


def flatten(tree: Any, leaves: list[Any]) -> Structure:
    """Append the leaves of ``tree`` (nested list, tuple, dict) and return its structure."""
    if isinstance(tree, dict):
        return {name: flatten(branch, leaves) for name, branch in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [flatten(branch, leaves) for branch in tree]
    if tree is None:
        return None
    leaves.append(tree)
    return len(leaves) - 1


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of lists and dicts whose structure and leaves these are."""
    if isinstance(structure, dict):
        return {name: unflatten(branch, leaves) for name, branch in structure.items()}
    if isinstance(structure, list):
        return [unflatten(branch, leaves) for branch in structure]
    return None if structure is None else leaves[structure]


def places(
    structure: Structure, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Every leaf of a structure: the path that leads to it, and its number."""
    if isinstance(structure, dict):
        for name, branch in structure.items():
            yield from places(branch, (*path, name))
    elif isinstance(structure, list):
        for place, branch in enumerate(structure):
            yield from places(branch, (*path, place))
    elif structure is not None:
        yield path, structure
