"""Values to documents: the shortest exact JSON of each array, or raw bytes for msgpack.

Arrays of the request's own float type, and bools, are bare nested lists; all others say their
dtype. Not-a-number and infinities become strings. Nothing is densified, rounded or dropped.
"""

from __future__ import annotations

import base64
from typing import Any, Literal

import numpy as np

from app.core.codec.decode import Reference
from app.core.codec.documents import Media
from app.core.values import Leaf, SparseValue, Structure, dtype_name, unflatten

Encoding = Literal["json", "base64"]


class Encoder:
    """Encodes the leaves of one answer; ``dtype`` is the request's float type."""

    def __init__(self, media: Media, dtype: str, encoding: Encoding = "json") -> None:
        self.media = media
        self.dtype = dtype
        self.raw = media == "msgpack" or encoding == "base64"

    def tree(self, structure: Structure, leaves: list[Any]) -> Any:
        """The document of a whole result."""
        return unflatten(structure, [self.leaf(leaf) for leaf in leaves])

    def leaf(self, leaf: Leaf | Reference) -> Any:
        """The document of one value: dense bare or typed, sparse in typed parts, or a reference."""
        if isinstance(leaf, SparseValue):
            parts = {name: self.leaf(part) for name, part in leaf.parts.items()}
            return {"layout": leaf.layout, "shape": list(leaf.shape), **parts}
        if isinstance(leaf, Reference):
            return {"ref": leaf.id}
        name = dtype_name(leaf.dtype)
        bare = name in (self.dtype, "bool")
        if leaf.ndim == 0 and bare:
            return self._scalar(leaf)
        if self.raw:
            return self._typed_raw(leaf)
        empty = name == self.dtype and leaf.shape == (0,)
        if bare and (leaf.size or empty):
            return self._nested(leaf)
        data = self._nested(_as_floats(leaf).ravel())
        return {"dtype": name, "shape": list(leaf.shape), "data": data}

    def _scalar(self, leaf: np.ndarray) -> Any:
        number = leaf.item()
        if type(number) is float and self.media == "json" and not np.isfinite(number):
            return _special(number)
        return number

    def _typed_raw(self, leaf: np.ndarray) -> dict[str, Any]:
        head = {"dtype": dtype_name(leaf.dtype), "shape": list(leaf.shape)}
        raw = np.ascontiguousarray(leaf).reshape(-1).view(np.uint8).data
        if self.media == "msgpack":
            return {**head, "data": raw}
        return {**head, "base64": base64.b64encode(raw).decode("ascii")}

    def _nested(self, leaf: np.ndarray) -> Any:
        if leaf.dtype.kind in "biu":
            return np.ascontiguousarray(leaf)
        with np.errstate(invalid="ignore"):  # a signalling not-a-number is one like any other
            wide = np.ascontiguousarray(leaf, dtype=np.float64)
        finite = np.isfinite(wide)
        if np.logical_and.reduce(finite, axis=None):
            return wide
        flat: list[Any] = wide.ravel().tolist()
        for place in np.flatnonzero(~finite.ravel()).tolist():
            flat[place] = _special(flat[place])
        return _fold(flat, wide.shape)


def _as_floats(leaf: np.ndarray) -> np.ndarray:
    if leaf.dtype.kind != "c":
        return leaf
    part = np.float64 if leaf.dtype.itemsize == 16 else np.float32
    return np.ascontiguousarray(leaf).reshape(-1).view(part)


def _special(number: float) -> str:
    if number != number:
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _fold(flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    for length in reversed(shape[1:]):
        flat = [flat[start : start + length] for start in range(0, len(flat), length)]
    return flat
