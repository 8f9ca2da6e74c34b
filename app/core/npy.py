"""Read and write .npy bytes: any plain number type and order, never a pickle.

Format: NumPy's NEP 1, versions 1 to 3. The header is checked before anything is allocated.
"""

from __future__ import annotations

import ast
import io
import math
import re

import numpy as np

from app.core.errors import InvalidBody, TooLarge

MAX_BYTES = 2**31
_MAGIC = b"\x93NUMPY"
_NUMBER = re.compile(r"[<>|=]?(b1|i[1248]|u[1248]|f[248]|c8|c16)")
_TEXT = re.compile(r"[<>|=]?[SU]\d{1,3}")


def read_npy(data: bytes, *, max_bytes: int = MAX_BYTES, text: bool = False) -> np.ndarray:
    """The array in row-major order and native byte order, whatever the file's are.

    ``text`` also lets short strings in. Raises InvalidBody, or TooLarge past ``max_bytes``.
    """
    descr, fortran, shape, body = _header(data)
    dtype = _dtype(descr, text)
    count = math.prod(shape)
    size = count * dtype.itemsize
    if size > max_bytes:
        raise TooLarge(f"the array takes {size} bytes; the limit is {max_bytes}")
    if len(body) != size:
        raise InvalidBody(f"the .npy header announces {size} bytes of data, {len(body)} follow")
    array = np.frombuffer(body, dtype, count).reshape(shape, order="F" if fortran else "C")
    return np.array(array, dtype.newbyteorder("="), order="C")


def write_npy(array: np.ndarray) -> bytes:
    """``array`` as a version 1 .npy file; raises InvalidBody for types NumPy alone lacks."""
    if _NUMBER.fullmatch(array.dtype.str) is None:
        raise InvalidBody(f".npy has no type {array.dtype.name}", hint="Ask for float32.")
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def _header(data: bytes) -> tuple[str, bool, tuple[int, ...], memoryview]:
    if data[:6] != _MAGIC or len(data) < 12 or data[6] not in (1, 2, 3):
        raise InvalidBody("these bytes are not a .npy file of version 1 to 3")
    wide = 2 if data[6] == 1 else 4
    begin = 8 + wide
    end = begin + int.from_bytes(data[8:begin], "little")
    if end - begin > 4096 or end > len(data):
        raise InvalidBody("the .npy header is cut off or too long")
    header = data[begin:end].decode("latin-1")
    try:
        if sum(header.count(bracket) for bracket in "([{-+") > 8:
            raise ValueError
        fields = ast.literal_eval(header.strip())
        descr, fortran, shape = fields["descr"], fields["fortran_order"], fields["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise InvalidBody("the .npy header cannot be read; plain number arrays are") from None
    plain = isinstance(descr, str) and isinstance(fortran, bool) and isinstance(shape, tuple)
    if not plain or len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise InvalidBody("the .npy header is not one of a plain number array")
    return descr, fortran, shape, memoryview(data)[end:]


def _dtype(descr: str, text: bool) -> np.dtype:
    if _NUMBER.fullmatch(descr) or (text and _TEXT.fullmatch(descr)):
        return np.dtype(descr)
    if "O" in descr:
        raise InvalidBody(
            "the .npy file holds pickled objects, which are never read",
            hint="Save an array of numbers: array.astype(float).",
        )
    raise InvalidBody(f"the .npy type {descr[:40]!r} is not one of the plain number types")
