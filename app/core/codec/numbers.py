"""Lists of numbers to arrays of one dtype, exactly: nothing wraps, overflows or is guessed.

Also the JSON pointers by which every refusal says where. Knows nothing of typed objects.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from app.core.errors import InvalidArgument

SPECIAL: Mapping[str, float] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
WIDER = "Use a wider dtype, such as float64 or int64"
Path = tuple["str | int", ...]


def pointer(path: Path) -> str:
    """The JSON pointer (RFC 6901) of a path."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def refuse(path: Path, detail: str, hint: str | None = None) -> NoReturn:
    """Raise InvalidArgument at ``path``."""
    raise InvalidArgument(detail, pointer=pointer(path), hint=hint)


def peel(items: list[Any]) -> tuple[list[Any], tuple[int, ...], bool]:
    """Flatten a nested list: its entries in row-major order, its shape, and whether it is regular.

    O(entries), one pass a level. Where rows differ in length or kind the third is False.
    """
    flat, shape = items, [len(items)]
    while flat:
        kinds = set(map(type, flat))
        if list not in kinds:
            return flat, tuple(shape), True
        lengths = set(map(len, flat)) if kinds == {list} else set()
        if len(lengths) != 1:
            return items, (len(items),), False
        shape.append(lengths.pop())
        flat = list(chain.from_iterable(flat))
    return flat, tuple(shape), True


def narrow(array: np.ndarray, dtype: np.dtype, path: Path) -> np.ndarray:
    """Round to a narrower float; refuse where a finite number would become infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = array.astype(dtype)
        lost = np.isinf(rounded.astype(np.float64)) & np.isfinite(array)
    if lost.any():
        place = int(np.flatnonzero(lost.ravel())[0])
        where = (*path, *index_of(place, array.shape))
        number = float(array.ravel()[place])
        refuse(where, f"{number!r} is past the range of {dtype.name}", WIDER)
    return rounded


def from_bytes(
    raw: bytes, dtype: np.dtype, shape: tuple[int, ...] | None, path: Path
) -> np.ndarray:
    """Little-endian row-major bytes as an array, without a copy; ``shape`` None: one dimension."""
    if shape is None:
        if len(raw) % dtype.itemsize:
            refuse(path, f"{len(raw)} bytes are no whole number of {dtype.name} entries")
        shape = (len(raw) // dtype.itemsize,)
    wanted = math.prod(shape) * dtype.itemsize
    if len(raw) != wanted:
        refuse(path, f"{len(raw)} bytes do not fill {list(shape)} of {dtype.name}: {wanted} do")
    array = np.frombuffer(raw, dtype).reshape(shape)
    if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        refuse(path, "A bool is the byte 0 or 1")
    return array


def from_base64(text: Any, path: Path) -> bytes:
    """The bytes of an RFC 4648 string."""
    if type(text) is not str:
        refuse(path, "base64 is a string")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        refuse(path, "This is not base64 (RFC 4648, with padding)")


def numbers(flat: list[Any], dtype: np.dtype, path: Path) -> np.ndarray:
    """A flat array of ``dtype``; complex numbers come as real, imaginary, real, …"""
    read: Callable[[list[Any], np.dtype, Path], np.ndarray]
    if dtype.kind == "b":
        read = _bools
    elif dtype.kind in "iu":
        read = _integers
    else:
        read = _floats
    return read(flat, dtype, path)


def _bools(flat: list[Any], dtype: np.dtype, path: Path) -> np.ndarray:
    for place, item in enumerate(flat):
        if type(item) is not bool and item not in (0, 1):
            refuse((*path, place), f"{said(item)} is not a bool")
    return np.array(flat, dtype)


def _integers(flat: list[Any], dtype: np.dtype, path: Path) -> np.ndarray:
    if not set(map(type, flat)) <= {int}:
        flat = [_integer(item, (*path, place)) for place, item in enumerate(flat)]
    bounds = np.iinfo(dtype)
    if flat and (min(flat) < bounds.min or max(flat) > bounds.max):
        place = next(i for i, n in enumerate(flat) if not bounds.min <= n <= bounds.max)
        refuse((*path, place), f"{flat[place]} is past the range of {dtype.name}", WIDER)
    return np.array(flat, dtype)


def _integer(item: Any, path: Path) -> int:
    if type(item) is int:
        return item
    if type(item) is float and item.is_integer() and abs(item) <= 2**53:
        return int(item)
    refuse(
        path,
        f"{said(item)} is not an integer that can be read exactly",
        "Send a whole number, or a dtype such as float64",
    )


def _floats(flat: list[Any], dtype: np.dtype, path: Path) -> np.ndarray:
    if not set(map(type, flat)) <= {int, float}:
        flat = [_float(item, (*path, place)) for place, item in enumerate(flat)]
    wide = np.array(flat, np.float64)
    if dtype.kind == "c":
        part = np.dtype(np.float64 if dtype.itemsize == 16 else np.float32)
        return narrow(wide, part, path).view(dtype)
    return wide if dtype == np.float64 else narrow(wide, dtype, path)


def _float(item: Any, path: Path) -> float:
    if type(item) in (int, float):
        return item
    if type(item) is str and item in SPECIAL:
        return SPECIAL[item]
    refuse(path, f"{said(item)} is not a number")


def said(item: Any) -> str:
    """How an error names an entry."""
    names = {str: "a string", bool: "a bool", list: "a list", dict: "an object", bytes: "bytes"}
    if item is None:
        return "null"
    return names.get(type(item), f"the number {item!r:.40}")


def index_of(place: int, shape: tuple[int, ...]) -> Path:
    """The index of the entry at a row-major place."""
    return tuple(int(i) for i in np.unravel_index(place, shape)) if shape else ()
