"""scipy.sparse .npz files, read without pickle and within a bound: csr, csc, coo, bsr, dia."""

from __future__ import annotations

import io
import zipfile
import zlib

import numpy as np

from app.core.errors import InvalidArgument, InvalidBody, TooLarge
from app.core.npy import read_npy
from app.core.values import SparseValue
from app.sparse.ingest import ingest

MAX_BYTES = 2**28
MAX_MEMBERS = 16


def read_npz(data: bytes, *, max_bytes: int = MAX_BYTES) -> SparseValue:
    """The matrix that ``scipy.sparse.save_npz`` wrote; bsr and dia come as coo.

    Raises InvalidBody (pickles, a dense .npz, a broken zip) or TooLarge past ``max_bytes``.
    """
    try:
        parts = _members(data, max_bytes)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InvalidBody(f"the .npz archive cannot be read: {error}") from None
    except (ValueError, OSError, KeyError, IndexError, OverflowError):
        raise InvalidBody("the .npz archive cannot be read") from None
    kind = parts.pop("format", np.zeros(0))
    layout = kind.item() if kind.size == 1 else ""
    layout = layout.decode("latin-1") if isinstance(layout, bytes) else str(layout)
    readers = {"csr": _plain, "csc": _plain, "coo": _plain, "bsr": _bsr, "dia": _dia}
    if layout not in readers or "shape" not in parts or "data" not in parts:
        raise InvalidBody(
            "this .npz file is not one of scipy.sparse.save_npz",
            hint=f"Formats read: {', '.join(readers)}. Dense arrays are sent as .npy.",
        )
    shape = parts.pop("shape")
    if shape.ndim != 1 or shape.dtype.kind not in "iu" or len(shape) != 2:
        raise InvalidBody("the shape in the .npz file is not that of a matrix")
    try:
        value = readers[layout](layout, tuple(int(size) for size in shape), parts)
        ingest(value)
    except InvalidArgument as error:
        raise InvalidBody(f"{error.detail} (at {error.pointer} of the .npz file)") from None
    return value


def _members(data: bytes, max_bytes: int) -> dict[str, np.ndarray]:
    wanted = {"format", "shape", "data", "indices", "indptr", "row", "col", "offsets"}
    parts, left = {}, max_bytes
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise InvalidBody(f"the .npz archive has more than {MAX_MEMBERS} members")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name not in wanted:
                continue
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InvalidBody("the .npz archive uses a compression that is not read")
            with archive.open(member) as stream:
                content = stream.read(left + 1)
            left -= len(content)
            if left < 0:
                raise TooLarge(f"unpacked, the file passes the limit of {max_bytes} bytes")
            parts[name] = read_npy(content, max_bytes=max_bytes, text=name == "format")
    return parts


def _plain(layout: str, shape: tuple[int, ...], parts: dict[str, np.ndarray]) -> SparseValue:
    names = ("row", "col") if layout == "coo" else ("indptr", "indices")
    kept = {name: parts[name] for name in names if name in parts}
    return SparseValue(layout, shape, {**kept, "values": parts["data"]})


def _bsr(layout: str, shape: tuple[int, ...], parts: dict[str, np.ndarray]) -> SparseValue:
    """Blocks ``data[k]`` of one size, placed as a csr of blocks places its entries."""
    data = parts["data"]
    if data.ndim != 3 or not data.shape[1] or not data.shape[2]:
        raise InvalidArgument("bsr blocks must be matrices", pointer="/data")
    height, width = data.shape[1:]
    if shape[0] % height or shape[1] % width:
        raise InvalidArgument("bsr blocks do not tile the shape", pointer="/data")
    places = {n: parts[n] for n in ("indptr", "indices") if n in parts}
    blocks = SparseValue(
        "csr",
        (shape[0] // height, shape[1] // width),
        {**places, "values": np.zeros(len(data))},
    )
    ingest(blocks)
    above = np.repeat(np.arange(shape[0] // height), np.diff(places["indptr"]))
    row = above[:, None, None] * height + np.arange(height)[:, None]
    col = places["indices"][:, None, None] * width + np.arange(width)
    row, col = (np.broadcast_to(part, data.shape).ravel() for part in (row, col))
    return SparseValue("coo", shape, {"row": row, "col": col, "values": data.ravel()})


def _dia(layout: str, shape: tuple[int, ...], parts: dict[str, np.ndarray]) -> SparseValue:
    """``data[k, j]`` stands in column j of the diagonal ``offsets[k]``."""
    data, offsets = parts["data"], parts.get("offsets", np.zeros(0, int))
    if data.ndim != 2 or offsets.shape != data.shape[:1] or offsets.dtype.kind not in "iu":
        raise InvalidArgument("dia needs one offset for each diagonal", pointer="/offsets")
    col = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    row = col - offsets.astype(np.int64)[:, None]
    inside = (row >= 0) & (row < shape[0]) & (col < shape[1]) & (data != 0)
    return SparseValue(
        "coo", shape, {"row": row[inside], "col": col[inside], "values": data[inside]}
    )
