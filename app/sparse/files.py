"""Array files, in and out: .npy, scipy's .npz, Matrix Market plain or gzipped.

A file is known by how it begins; Content-Type decides only where nothing else does.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from app.core.errors import NotAcceptable
from app.core.npy import read_npy
from app.core.values import Leaf, SparseValue
from app.sparse import matrix_market
from app.sparse.convert import convert
from app.sparse.npz import read_npz

Reader = Callable[..., Leaf]

NPY, NPZ, MATRIX_MARKET = "application/x-npy", "application/x-npz", "application/x-matrix-market"
_BANNER = b"%%matrixmarket"
_MARK = b"\xef\xbb\xbf"
"""A byte-order mark, as some editors write."""
_GZIP, _ZIP, _NUMPY = b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY"
_MATRIX_MARKET_TYPES = (MATRIX_MARKET, "text/x-matrix-market", "application/gzip")


def reader_of(body: bytes, content_type: str) -> Reader | None:
    """What reads a file that begins like this; ``None`` for a document of values.

    A damaged file begins like none: then the type it is said to be tells, and its reader refuses.
    """
    start = body[:64].removeprefix(_MARK).lstrip().lower()
    if body.startswith(_NUMPY):
        return read_npy
    if body.startswith(_ZIP):
        return read_npz
    if content_type in (NPY, NPZ):
        return read_npy if content_type == NPY else read_npz
    if start.startswith(_BANNER) or body.startswith(_GZIP) or content_type in _MATRIX_MARKET_TYPES:
        return matrix_market.read
    return None


def _write_npy(value: Leaf) -> bytes:
    if isinstance(value, SparseValue):
        raise NotAcceptable("A sparse array has no .npy form", hint=f"Ask for {NPZ}")
    if value.dtype.name == "bfloat16":
        raise NotAcceptable(".npy has no bfloat16", hint="Ask for JSON or msgpack")
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue()


def _write_npz(value: Leaf) -> bytes:
    if not isinstance(value, SparseValue) or len(value.shape) != 2:
        raise NotAcceptable("Only a sparse matrix has a scipy .npz form", hint=f"Ask for {NPY}")
    csr = convert(value, "csr")
    parts: Any = tuple(csr.parts[name] for name in ("values", "indices", "indptr"))
    file = io.BytesIO()
    scipy.sparse.save_npz(file, scipy.sparse.csr_matrix(parts, shape=csr.shape))
    return file.getvalue()


def _write_matrix_market(value: Leaf) -> bytes:
    return matrix_market.write(convert(value, "coo") if isinstance(value, SparseValue) else value)


WRITERS: Mapping[str, Callable[[Leaf], bytes]] = {
    NPY: _write_npy,
    NPZ: _write_npz,
    MATRIX_MARKET: _write_matrix_market,
}
"""What writes a value, by the media type that Accept names."""
