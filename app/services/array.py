"""Arrays as resources: uploaded once, named by their content, used by reference."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.cache.store import Store
from app.compute.image import Resident
from app.core.codec.calls import CodecLimits, decode_value
from app.core.codec.decode import Reference, pointer
from app.core.codec.documents import dump
from app.core.codec.encode import Encoder
from app.core.errors import (
    InvalidArgument,
    LimitExceeded,
    NotAcceptable,
    NotFound,
    ProblemError,
)
from app.core.ids import content_id, is_id
from app.core.values import LAYOUTS, Leaf, SparseValue, Structure, places
from app.services.matrix import Matrix
from app.services.memory import Memory
from app.sparse.convert import convert, to_dense

NAMESPACE = "arr"


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An immutable value and its id."""

    id: str
    value: Leaf

    def metadata(self) -> dict[str, Any]:
        """dtype, shape, layout, stored entries and bytes."""
        value = self.value
        if isinstance(value, SparseValue):
            entries = value.parts["values"]
            size = sum(part.nbytes for part in value.parts.values())
            extra: dict[str, Any] = {"layout": value.layout, "nse": int(entries.size)}
        else:
            entries, size, extra = value, value.nbytes, {"layout": "dense"}
        shape = list(value.shape)
        return {
            "array": self.id,
            "dtype": entries.dtype.name,
            "shape": shape,
            "bytes": size,
            **extra,
        }


class ArrayService:
    """Keeps arrays in the store and the recent ones in memory."""

    def __init__(self, store: Store, limits: CodecLimits, memory_bytes: int) -> None:
        self._store = store
        self._limits = limits
        self._memory: Memory[str, StoredArray] = Memory(memory_bytes)
        self._matrices: Memory[str, Matrix] = Memory(memory_bytes)

    async def put(self, value: Leaf) -> tuple[StoredArray, bool]:
        """Keep a value; the array, and whether it is new here."""
        array_id = await asyncio.to_thread(array_id_of, value)
        stored = StoredArray(array_id, value)
        packed = await asyncio.to_thread(_pack, value)
        created = await self._store.put_if_absent(NAMESPACE, array_id, packed)
        self._remember(stored)
        return stored, created

    async def get(self, array_id: str) -> StoredArray:
        """The array under an id; NotFound where it was never posted, was deleted or evicted."""
        held = self._memory.get(array_id)
        if held is not None:
            return held
        packed = await self._store.get(NAMESPACE, array_id) if is_id("arr", array_id) else None
        value = None if packed is None else await asyncio.to_thread(self._unpack, packed, array_id)
        if value is None:
            raise NotFound(f"No array {array_id[:60]!r} is kept here", hint="POST it to /v1/arrays")
        stored = StoredArray(array_id, value)
        self._remember(stored)
        return stored

    async def delete(self, array_id: str) -> None:
        """Forget an array everywhere; NotFound where there was none."""
        self._memory.drop(array_id)
        if not await self._store.delete(NAMESPACE, array_id):
            raise NotFound(f"No array {array_id[:60]!r} is kept here")

    async def resolve(
        self, leaves: Sequence[Any], groups: Mapping[str, Structure] | None = None
    ) -> list[Any]:
        """Leaves as calls need them: arrays in place of references, matrices checked.

        ``groups`` tells an error's pointer where a leaf lies in the body.
        """
        return [
            leaf
            if type(leaf) is np.ndarray
            else await self._resolved(leaf, lambda place=place: _pointer(groups or {}, place))
            for place, leaf in enumerate(leaves)
        ]

    async def _resolved(self, leaf: Any, where: Callable[[], str]) -> Any:
        if isinstance(leaf, Reference):
            return await self._referenced(leaf)
        if not isinstance(leaf, SparseValue):
            return leaf
        try:
            return await asyncio.to_thread(Matrix.of, leaf)
        except (InvalidArgument, LimitExceeded) as misfit:
            pointed = where() + (misfit.pointer or "")
            raise type(misfit)(misfit.detail, pointer=pointed, hint=misfit.hint) from None

    async def _referenced(self, reference: Reference) -> Resident | Matrix:
        try:
            stored = await self.get(reference.id)
        except NotFound as missing:
            where = pointer(reference.path)
            raise InvalidArgument(missing.detail, pointer=where, hint=missing.hint) from None
        if isinstance(stored.value, SparseValue):
            return await self._matrix(stored.id, stored.value)
        return Resident(stored.id, stored.value)

    async def _matrix(self, array_id: str, value: SparseValue) -> Matrix:
        held = self._matrices.get(array_id)
        if held is None:
            held = await asyncio.to_thread(Matrix.of, value, array_id)
            inner = held.padded
            size = inner.values.nbytes + inner.indices.nbytes + inner.indptr.nbytes
            self._matrices.put(array_id, held, size)
        return held

    def _remember(self, stored: StoredArray) -> None:
        self._memory.put(stored.id, stored, stored.metadata()["bytes"] + 256)

    def _unpack(self, packed: bytes, array_id: str) -> Leaf | None:
        """The store is not trusted: a value that is not what its id says is not there."""
        try:
            (value,) = decode_value(packed, "msgpack", self._limits).leaves
        except (ProblemError, ValueError):
            return None
        return value if array_id_of(value) == array_id else None


def _pointer(groups: Mapping[str, Structure], place: int) -> str:
    """The JSON pointer of a leaf."""
    paths = ((path, leaf) for name in groups for path, leaf in places(groups[name], (name,)))
    return next((pointer(path) for path, leaf in paths if leaf == place), "")


def arrange(value: Leaf, layout: str) -> Leaf:
    """A value in another layout; a dense matrix keeps its nonzero entries alone."""
    if layout not in LAYOUTS:
        raise InvalidArgument(
            f"No layout {layout[:40]!r}", pointer="/layout", hint="One of " + ", ".join(LAYOUTS)
        )
    if isinstance(value, SparseValue):
        return to_dense(value) if layout == "dense" else convert(value, layout)
    return value if layout == "dense" else convert(_entries_of(value), layout)


def _entries_of(dense: np.ndarray) -> SparseValue:
    if dense.ndim != 2:
        raise NotAcceptable(f"An array of {dense.ndim} dimensions has no sparse layout here")
    row, col = (index.astype(np.int32) for index in np.nonzero(dense))
    return SparseValue("coo", dense.shape, {"row": row, "col": col, "values": dense[row, col]})


def array_id_of(value: Leaf) -> str:
    """``arr_`` and the hash of layout, shape and every part's dtype, shape and bytes. O(bytes)."""
    parts: dict[str, np.ndarray]
    if isinstance(value, SparseValue):
        head, parts = f"{value.layout}{list(value.shape)}", dict(value.parts)
    else:
        head, parts = "dense", {"": value}
    pieces: list[bytes | memoryview] = [head.encode()]
    for name, part in parts.items():
        pieces.append(f"{name}:{part.dtype.name}{list(part.shape)}".encode())
        pieces.append(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return content_id("arr", pieces)


def _pack(value: Leaf) -> bytes:
    """Every leaf typed, so that a scalar keeps its dtype."""
    return dump(Encoder("msgpack", dtype="").leaf(value), "msgpack")
