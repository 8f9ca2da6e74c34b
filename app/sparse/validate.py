"""Refuse what a sparse value must not hold, naming the entry: nothing below trusts the client.

Every check is O(entries) in NumPy; nothing is allocated from what a shape or header promises.
"""

from __future__ import annotations

import numpy as np

from app.core.errors import InvalidArgument, LimitExceeded
from app.core.values import DTYPES, SparseValue

MAX_SIZE = 2**31 - 1
"""Rows, columns and entries are counted in int32."""

PARTS = {
    "coo": ("row", "col", "values"),
    "csr": ("indptr", "indices", "values"),
    "csc": ("indptr", "indices", "values"),
    "bcoo": ("indices", "values"),
    "bcsr": ("indptr", "indices", "values"),
}
"""The parts of each sparse layout by their wire names."""


def check_form(value: SparseValue) -> None:
    """Layout, parts, shape and the dtype of the values are what they must be."""
    if value.layout not in PARTS:
        raise InvalidArgument(
            f"{value.layout!r} is not a sparse layout",
            pointer="/layout",
            hint=f"The sparse layouts are {', '.join(PARTS)}.",
        )
    wanted = PARTS[value.layout]
    for name in wanted:
        if not isinstance(value.parts.get(name), np.ndarray):
            raise InvalidArgument(
                f"{value.layout} needs the part {name!r}",
                pointer=f"/{name}",
                hint=f"Its parts are {', '.join(wanted)}.",
            )
    unknown = sorted(set(value.parts) - set(wanted))
    if unknown:
        raise InvalidArgument(
            f"{value.layout} has no part {unknown[0]!r}",
            pointer=f"/{unknown[0]}",
            hint=f"Its parts are {', '.join(wanted)}.",
        )
    check_shape(value.shape)
    if value.parts["values"].dtype not in DTYPES.values():
        raise InvalidArgument(
            f"values of type {value.parts['values'].dtype} are not numbers", pointer="/values"
        )


def check_shape(shape: tuple[int, ...]) -> None:
    """Sizes are integers of 0 to 2^31 - 1."""
    for place, size in enumerate(shape):
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
            raise InvalidArgument(f"size {size!r} is not an integer", pointer=f"/shape/{place}")
        if not 0 <= size <= MAX_SIZE:
            raise InvalidArgument(f"size {size} is outside 0 … 2^31 - 1", pointer=f"/shape/{place}")


def check_ndim(array: np.ndarray, ndim: int, name: str) -> None:
    """``array`` has ``ndim`` dimensions."""
    if array.ndim != ndim:
        raise InvalidArgument(
            f"{name} must have {ndim} dimension{'s' if ndim > 1 else ''}, not {array.ndim}",
            pointer=f"/{name}",
        )


def check_length(array: np.ndarray, length: int, name: str, why: str) -> None:
    """The last dimension of ``array`` holds ``length`` entries."""
    if array.shape[-1] != length:
        raise InvalidArgument(
            f"{name} holds {array.shape[-1]} entries where {why} asks for {length}",
            pointer=f"/{name}",
        )


def check_count(nnz: int) -> None:
    """Entries are few enough to be counted in int32."""
    if nnz > MAX_SIZE:
        raise LimitExceeded(f"{nnz} entries are more than 2^31 - 1", pointer="/values")


def check_rows(rows: int, nnz: int, most: int) -> None:
    """A short body must not make a row pointer of gigabytes."""
    if rows > max(most, 4 * nnz):
        raise LimitExceeded(
            f"{rows} rows for {nnz} entries are more than this server holds ({most})",
            pointer="/shape/0",
        )


def integers(array: np.ndarray, name: str) -> np.ndarray:
    """``array`` as integers; floats that are whole numbers count as integers.

    Bare JSON numbers are floating point, so 1.0 is an index and 1.5 is refused.
    """
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "V" or array.dtype.kind not in "f":
        raise InvalidArgument(
            f"{name} must hold integers, not {array.dtype.name}", pointer=f"/{name}"
        )
    if array.dtype.itemsize < 4:
        array = array.astype(np.float32)
    with np.errstate(invalid="ignore"):
        bad = ~(np.floor(array) == array) | (np.abs(array) > 2.0**53)
    if bad.any():
        place = first(bad)
        raise InvalidArgument(f"index {array[place]} is not an integer", pointer=point(name, place))
    return array.astype(np.int64)


def indices(array: np.ndarray, bound: int, name: str) -> np.ndarray:
    """``array`` as int32 indices of 0 … ``bound - 1``; an entry outside is named."""
    array = integers(array, name)
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < bound):
        place = first((array < 0) | (array >= bound))
        refuse_index(int(array[place]), bound, point(name, place), int(array.min()))
    return array if array.dtype == np.int32 else array.astype(np.int32)


def refuse_index(index: int, bound: int, pointer: str, least: int) -> None:
    """Raise for one index outside its dimension, with the mistake it most likely is."""
    if index < 0:
        hint = "Indices count from 0; negative ones do not wrap around."
    elif least >= 1 and index == bound:
        hint = "Indices count from 0; these look as if they counted from 1."
    else:
        hint = "Indices count from 0 and end one below the size in shape."
    kind = "is negative" if index < 0 else f"is out of range for size {bound}"
    raise InvalidArgument(f"index {index} {kind}", pointer=pointer, hint=hint)


def pointers(
    array: np.ndarray, nnz: int, name: str = "indptr", *, spare: bool = False
) -> np.ndarray:
    """``array`` as a row pointer: starts at 0, never falls, ends at ``nnz``; int32.

    ``spare``: it may end before ``nnz``, what follows being padding (bcsr).
    """
    array = integers(array, "indptr")
    if int(array[0]) != 0:
        raise InvalidArgument(f"indptr starts at {array[0]}, not 0", pointer="/indptr/0")
    falls = array[1:] < array[:-1]
    if falls.any():
        place = first(falls)[0] + 1
        raise InvalidArgument(
            f"indptr falls from {array[place - 1]} to {array[place]}",
            pointer=f"/indptr/{place}",
            hint="It counts the entries before each row (csc: column), so it never falls.",
        )
    end = int(array[-1])
    if end > nnz or (end < nnz and not spare):
        raise InvalidArgument(
            f"{name} ends at {end}, but there are {nnz} entries",
            pointer=f"/{name}/{len(array) - 1}",
        )
    return array.astype(np.int32, copy=False)


def first(bad: np.ndarray) -> tuple[int, ...]:
    """Where the first true entry lies."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))


def point(name: str, place: tuple[int, ...]) -> str:
    """The JSON pointer of an entry, relative to the value."""
    return "/".join(("", name, *(str(i) for i in place)))
