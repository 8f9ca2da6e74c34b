"""Documents to values: bare numbers, nested lists, typed arrays, sparse arrays, references.

Bare numbers are floating point, always. A nested list of numbers is one array; a list that holds
an object, or arrays of different rank, is a list of values (a pytree). Every refusal carries a
JSON pointer. Runs in the API process or in a codec process; knows nothing of HTTP.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from app.core.codec.numbers import (
    SPECIAL,
    Path,
    from_base64,
    from_bytes,
    index_of,
    narrow,
    numbers,
    peel,
    pointer,
    refuse,
    said,
)
from app.core.errors import TooLarge
from app.core.values import DTYPES, LAYOUTS, Aval, Leaf, SparseValue, Structure, span

RANK_LIMIT = 32

_TYPED = {"dtype", "shape", "data", "base64"}
_PARTS: Mapping[str, tuple[str, ...]] = {
    "coo": ("row", "col", "values"),
    "csr": ("indptr", "indices", "values"),
    "csc": ("indptr", "indices", "values"),
    "bcoo": ("indices", "values"),
    "bcsr": ("indptr", "indices", "values"),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A leaf that stands for an array uploaded before."""

    id: str
    path: Path


class Decoder:
    """Decodes values of one request: ``dtype`` is what bare numbers become.

    ``abstract`` lets ``{"shape", "dtype"}`` stand in place of a value. ``leaves`` collects arrays,
    ``SparseValue``, ``Reference`` and ``Aval`` in order.
    """

    def __init__(self, dtype: str, array_bytes: int, abstract: bool = False) -> None:
        self.dtype = DTYPES[dtype]
        self.array_bytes = array_bytes
        self.abstract = abstract
        self.leaves: list[Any] = []

    def value(self, document: Any, path: Path) -> Structure:
        """The structure of one value; its leaves are appended to ``leaves``."""
        return self._place(self._read(document, path))

    def parameters(self, document: Any, path: Path) -> Structure:
        """The structures of one value a parameter: a list by position, an object by name."""
        if type(document) is list:
            return [self.value(item, (*path, place)) for place, item in enumerate(document)]
        if type(document) is dict:
            return {name: self.value(item, (*path, name)) for name, item in document.items()}
        refuse(path, "A list by position or an object by name goes here", "Like [3.0]")

    def _place(self, tree: Any) -> Structure:
        if type(tree) is dict:
            return {name: self._place(branch) for name, branch in tree.items()}
        if type(tree) is list:
            return [self._place(branch) for branch in tree]
        if tree is None:
            return None
        self.leaves.append(tree)
        return len(self.leaves) - 1

    def _read(self, document: Any, path: Path) -> Any:
        kind = type(document)
        if kind is float or kind is int:
            return self._bare(np.array(document, np.float64), path)
        if kind is list:
            return self._list(document, path)
        if kind is bool:
            return np.array(document)
        if kind is dict:
            return self._object(document, path)
        if kind is str:
            return self._bare(np.array(self._special(document, path)), path)
        if document is None:
            return None
        refuse(path, f"A {kind.__name__} is not a value", "Send numbers, lists or typed arrays")

    def _special(self, text: str, path: Path) -> float:
        number = SPECIAL.get(text)
        if number is None:
            refuse(
                path,
                f"The string {text[:40]!r} is not a number",
                'Only "NaN", "Infinity" and "-Infinity" are; give options by "static"',
            )
        return number

    def _bare(self, array: np.ndarray, path: Path) -> np.ndarray:
        return array if array.dtype == self.dtype else narrow(array, self.dtype, path)

    def _list(self, items: list[Any], path: Path) -> Any:
        flat, shape, regular = peel(items)
        if len(shape) > RANK_LIMIT:
            refuse(path, f"An array has at most {RANK_LIMIT} dimensions")
        if not regular:
            return self._irregular(items, path)
        kinds = set(map(type, flat))
        if kinds <= {float, int}:
            return self._bare(np.array(flat, np.float64).reshape(shape), path)
        if kinds == {bool}:
            return np.array(flat).reshape(shape)
        if kinds <= {float, int, str}:
            entries = [
                self._special(item, (*path, *index_of(place, shape))) if type(item) is str else item
                for place, item in enumerate(flat)
            ]
            return self._bare(np.array(entries, np.float64).reshape(shape), path)
        if dict in kinds or kinds == {type(None)}:
            return [self._read(item, (*path, place)) for place, item in enumerate(items)]
        self._refuse_mixed(flat, shape, path)

    def _refuse_mixed(self, flat: list[Any], shape: tuple[int, ...], path: Path) -> NoReturn:
        first = type(flat[0])
        plain = (int, float)
        for place, item in enumerate(flat):
            same = type(item) in plain if first in plain else type(item) is first
            if not same:
                where = (*path, *index_of(place, shape))
                refuse(
                    where,
                    "An array mixes kinds: " + said(flat[0]) + " and " + said(item),
                    "Send numbers alone, or each kind under its own name",
                )
        refuse(path, f"A list of {said(flat[0])} is not an array")

    def _irregular(self, items: list[Any], path: Path) -> Any:
        trees = [self._read(item, (*path, place)) for place, item in enumerate(items)]
        typed = any(type(item) is dict or item is None for item in items)
        if typed or any(type(tree) is not np.ndarray for tree in trees):
            return trees
        ranks = {tree.ndim for tree in trees}
        if ranks == {1}:
            lengths = [len(tree) for tree in trees]
            odd = next(place for place, n in enumerate(lengths) if n != lengths[0])
            refuse(
                (*path, odd),
                f"A ragged array: row {odd} has length {lengths[odd]}, row 0 has {lengths[0]}",
                "Make all rows of one length, or send each array typed or under its own name",
            )
        return trees

    def _object(self, document: dict[str, Any], path: Path) -> Any:
        if "ref" in document and len(document) == 1:
            return self._reference(document["ref"], path)
        if "layout" in document:
            return self._sparse(document, path)
        if "dtype" in document or ("shape" in document and "data" in document):
            return self._typed(document, path)
        return {name: self._read(branch, (*path, name)) for name, branch in document.items()}

    def _reference(self, name: Any, path: Path) -> Reference:
        if type(name) is not str:
            refuse((*path, "ref"), "A reference is the id of an array", "Like arr_0123…")
        return Reference(name, path)

    def _typed(self, document: dict[str, Any], path: Path) -> np.ndarray | Aval:
        for name in document:
            if name not in _TYPED:
                refuse(
                    (*path, name),
                    f"A typed array has no field {str(name)[:40]!r}",
                    "It has dtype, shape, and data or base64",
                )
        dtype = self._dtype(document.get("dtype"), (*path, "dtype"))
        shape = self._shape(document.get("shape"), (*path, "shape"))
        size = 0 if shape is None else span(shape) * dtype.itemsize
        if size > self.array_bytes:
            raise TooLarge(
                f"An array of {size} bytes is past the limit of {self.array_bytes}",
                pointer=pointer((*path, "shape")),
                hint="Send it in parts, or sparse where most entries are zero",
            )
        if "data" in document and "base64" in document:
            refuse(path, "A typed array has data or base64, not both")
        if "base64" in document:
            raw = from_base64(document["base64"], (*path, "base64"))
            return from_bytes(raw, dtype, shape, (*path, "base64"))
        if "data" in document:
            return self._typed_data(document["data"], dtype, shape, (*path, "data"))
        if self.abstract and shape is not None:
            return Aval(dtype.name, shape)
        refuse(
            path,
            "A typed array needs data or base64",
            'Like {"dtype": "int32", "shape": [2], "data": [1, 2]}',
        )

    def _dtype(self, name: Any, path: Path) -> np.dtype:
        if name is None:
            return self.dtype
        if type(name) is not str or name not in DTYPES:
            refuse(path, f"No dtype {str(name)[:40]!r}", "One of " + ", ".join(DTYPES))
        return DTYPES[name]

    def _shape(self, shape: Any, path: Path) -> tuple[int, ...] | None:
        if shape is None:
            return None
        if type(shape) is not list or any(type(n) is not int or n < 0 for n in shape):
            refuse(path, "A shape is a list of integers that are not negative", "Like [2, 3]")
        if len(shape) > RANK_LIMIT:
            refuse(path, f"An array has at most {RANK_LIMIT} dimensions")
        return tuple(shape)

    def _typed_data(
        self, data: Any, dtype: np.dtype, shape: tuple[int, ...] | None, path: Path
    ) -> np.ndarray:
        if type(data) is bytes:
            return from_bytes(data, dtype, shape, path)
        flat, nested, regular = peel(data) if type(data) is list else ([data], (), True)
        if not regular:
            refuse(path, "The data is ragged: its rows differ in length")
        pair = 2 if dtype.kind == "c" else 1
        if shape is None:
            shape = nested[:-1] + ((nested[-1] // pair,) if nested else ())
        if len(flat) != math.prod(shape) * pair:
            wanted = math.prod(shape) * pair
            refuse(path, f"{len(flat)} numbers do not fill the shape {list(shape)}: {wanted} do")
        return numbers(flat, dtype, path).reshape(shape)

    def _sparse(self, document: dict[str, Any], path: Path) -> Leaf | Aval:
        layout = document["layout"]
        if type(layout) is not str or layout not in LAYOUTS:
            refuse((*path, "layout"), f"No layout {str(layout)[:40]!r}", "One of " + str(LAYOUTS))
        if layout == "dense":
            rest = {name: part for name, part in document.items() if name != "layout"}
            return self._typed(rest, path)
        shape = self._shape(document.get("shape"), (*path, "shape"))
        if shape is None or len(shape) < 2:
            refuse((*path, "shape"), "A sparse array needs its shape, of two dimensions or more")
        wanted = _PARTS[layout]
        if self.abstract and "nse" in document:
            return self._abstract_sparse(document, layout, shape, path)
        for name in document:
            if name not in (*wanted, "layout", "shape"):
                refuse(
                    (*path, name),
                    f"A {layout} array has no part {str(name)[:40]!r}",
                    "It has shape, " + ", ".join(wanted),
                )
        parts = {}
        for name in wanted:
            if name not in document:
                refuse(path, f"A {layout} array needs {', '.join(wanted)}; {name} is missing")
            parts[name] = self._part(name, document[name], (*path, name))
        return SparseValue(layout, shape, parts)

    def _abstract_sparse(
        self, document: dict[str, Any], layout: str, shape: tuple[int, ...], path: Path
    ) -> Aval:
        nse = document["nse"]
        if type(nse) is not int or not 0 <= nse < 1 << 31:
            refuse((*path, "nse"), "nse counts stored entries: an integer below 2^31")
        dtype = self._dtype(document.get("dtype"), (*path, "dtype"))
        return Aval(dtype.name, shape, layout, nse)

    def _part(self, name: str, document: Any, path: Path) -> np.ndarray:
        if name != "values" and type(document) is list:
            flat, shape, regular = peel(document)
            if not regular:
                refuse(path, "Indices are ragged: their rows differ in length")
            return numbers(flat, DTYPES["int64"], path).reshape(shape)
        part = self._read(document, path)
        if type(part) is not np.ndarray:
            refuse(path, f"{name} is an array of numbers")
        return part
