"""Matrix Market files, read and written: coordinate and array, every field and symmetry.

Format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935 (1996).
Tolerant where the meaning is plain (case, CRLF, blank lines, a byte-order mark, comments in any
encoding, Fortran's D exponents, whole floats as indices), strict elsewhere. Nothing is allocated
from what the header promises before the lines are counted. NumPy only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.core.errors import InvalidBody, TooLarge
from app.core.values import SparseValue
from app.sparse.expand import expand_array, expand_entries
from app.sparse.gunzip import gunzip
from app.sparse.tokens import Tokens

MAX_BYTES = 2**28
"""Default bound of a file after decompression, and of a dense result."""

FIELDS = {
    "real": np.float64,
    "double": np.float64,
    "integer": np.int64,
    "unsigned-integer": np.uint64,
    "complex": np.complex128,
    "pattern": np.float64,
}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


@dataclass(frozen=True, slots=True)
class Header:
    """The banner: ``%%MatrixMarket matrix <format> <field> <symmetry>``."""

    format: str
    field: str
    symmetry: str

    @property
    def dtype(self) -> np.dtype:
        """The type that the values are read as; a pattern holds ones."""
        return np.dtype(FIELDS[self.field])

    @property
    def numbers(self) -> int:
        """How many numbers spell one value."""
        return {"complex": 2, "pattern": 0}.get(self.field, 1)


def read(data: bytes, *, max_bytes: int = MAX_BYTES) -> SparseValue | np.ndarray:
    """A coordinate file as coo, its symmetry spelled out; an array file as a dense array.

    Gzip is recognised. Raises InvalidBody (its ``line`` is the file's, from 1) or TooLarge.
    """
    if data[:2] == b"\x1f\x8b":
        data = gunzip(data, max_bytes)
    if len(data) > max_bytes:
        raise TooLarge(f"a file of {len(data)} bytes passes the limit of {max_bytes}")
    banner, rest, line = _first_line(data.removeprefix(b"\xef\xbb\xbf"))
    header = _header(banner, line)
    sizes, body, line = _sizes(rest, line + 1, 3 if header.format == "coordinate" else 2)
    tokens = Tokens.of(body, line + 1)
    if header.format == "coordinate":
        return _coordinate(header, tokens, *sizes)
    return _array(header, tokens, *sizes, max_bytes=max_bytes)


def _first_line(data: bytes) -> tuple[bytes, bytes, int]:
    """The first line that is not blank, what follows it, and its number."""
    stripped = data.lstrip()
    line = 1 + data[: len(data) - len(stripped)].count(b"\n")
    head, _, rest = stripped.partition(b"\n")
    return head, rest, line


def _header(banner: bytes, line: int) -> Header:
    words = banner[:200].decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise InvalidBody(
            "the banner of a Matrix Market file is missing",
            line=line,
            hint="The first line reads: %%MatrixMarket matrix coordinate real general",
        )
    header = Header(*words[2:])
    for word, known in (
        (header.format, ("coordinate", "array")),
        (header.field, tuple(FIELDS)),
        (header.symmetry, SYMMETRIES),
    ):
        if word not in known:
            hint = f"One of {', '.join(known)} stands there."
            raise InvalidBody(f"the banner says {word[:40]!r}", line=line, hint=hint)
    if header.symmetry == "hermitian" and header.field != "complex":
        raise InvalidBody("a hermitian file must be complex", line=line)
    if header.field == "pattern" and (header.format, header.symmetry)[0] == "array":
        raise InvalidBody("an array file cannot be a pattern", line=line)
    if header.field == "pattern" and header.symmetry == "skew-symmetric":
        raise InvalidBody("a pattern cannot be skew-symmetric", line=line)
    return header


def _sizes(data: bytes, line: int, count: int) -> tuple[list[int], bytes, int]:
    """The numbers of the size line, the body after it, and the size line's number."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        text = data[at:end].strip()
        at, line = end + 1, line + 1
        if not text or text.startswith(b"%"):
            continue
        words = text.split()
        if len(words) != count or not all(w.isdigit() and len(w) < 19 for w in words):
            what = "rows, columns and entries" if count == 3 else "rows and columns"
            raise InvalidBody(f"the size line must give {what}", line=line - 1)
        sizes = [int(word) for word in words]
        if max(sizes[:2]) > 2**31 - 1:
            raise TooLarge(f"{max(sizes[:2])} rows or columns are more than 2^31 - 1")
        return sizes, data[at:], line - 1
    raise InvalidBody("the size line is missing", line=line)


def _coordinate(header: Header, tokens: Tokens, rows: int, cols: int, nnz: int) -> SparseValue:
    tokens.check(lines=nnz, per_line=2 + header.numbers)
    if header.dtype.kind in "iu":
        table = tokens.integers(header.dtype).reshape(nnz, 3)
    else:
        table = tokens.floats().reshape(nnz, 2 + header.numbers)
    row = tokens.index(table[:, 0], rows, "row")
    col = tokens.index(table[:, 1], cols, "column")
    values = _values(header, table[:, 2:], nnz)
    if header.symmetry != "general":
        _check_square(rows, cols, header)
        row, col, values = expand_entries(header.symmetry, row, col, values, tokens)
    return SparseValue("coo", (rows, cols), {"row": row, "col": col, "values": values})


def _array(header: Header, tokens: Tokens, rows: int, cols: int, *, max_bytes: int) -> np.ndarray:
    if header.symmetry != "general":
        _check_square(rows, cols, header)
    count = {
        "general": rows * cols,
        "skew-symmetric": rows * (rows - 1) // 2,
    }.get(header.symmetry, rows * (rows + 1) // 2)
    tokens.check(lines=count, per_line=header.numbers)
    if rows * cols * header.dtype.itemsize > max_bytes:
        raise TooLarge(f"{rows} x {cols} values pass the limit of {max_bytes} bytes")
    integer = header.dtype.kind in "iu"
    flat = tokens.integers(header.dtype) if integer else tokens.floats()
    values = _values(header, flat.reshape(count, header.numbers), count)
    if header.symmetry == "general":
        return np.ascontiguousarray(values.reshape(cols, rows).T)
    return expand_array(header.symmetry, rows, values)


def _values(header: Header, columns: np.ndarray, count: int) -> np.ndarray:
    if header.field == "pattern":
        return np.ones(count)
    if header.field == "complex":
        return columns[:, 0] + 1j * columns[:, 1]
    return np.ascontiguousarray(columns[:, 0], header.dtype)


def _check_square(rows: int, cols: int, header: Header) -> None:
    if rows != cols:
        raise InvalidBody(f"a {header.symmetry} matrix must be square, not {rows} x {cols}")


def write(value: SparseValue | np.ndarray) -> bytes:
    """``value`` as a general Matrix Market file: coo as coordinate, a dense matrix as array.

    Every number reads back to the same bits. Raises InvalidBody for types the format lacks.
    """
    values = value.parts["values"] if isinstance(value, SparseValue) else value
    kinds = {"f": "real", "c": "complex", "i": "integer", "u": "unsigned-integer", "b": "integer"}
    if values.dtype.kind not in kinds or values.dtype.itemsize > 16:
        raise InvalidBody(f"Matrix Market cannot hold {values.dtype.name}")
    spelled = _spelled(values.T.ravel() if values.ndim == 2 else values)
    field = kinds[values.dtype.kind]
    if isinstance(value, SparseValue):
        head = f"coordinate {field} general\n{value.shape[0]} {value.shape[1]} {len(values)}"
        row, col = (value.parts["row"] + 1).tolist(), (value.parts["col"] + 1).tolist()
        lines = [f"{i} {j} {v}" for i, j, v in zip(row, col, spelled, strict=True)]
    else:
        head = f"array {field} general\n{values.shape[0]} {math.prod(values.shape[1:])}"
        lines = spelled
    return "\n".join((f"%%MatrixMarket matrix {head}", *lines, "")).encode("ascii")


def _spelled(values: np.ndarray) -> list[str]:
    if values.dtype.kind == "c":
        return [f"{v.real!r} {v.imag!r}" for v in values.tolist()]
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    return [repr(v) for v in values.tolist()]
