"""Matrix Market and scipy .npz: right values, named faults, nothing bought by a header's lie."""

from __future__ import annotations

import gzip
import io
import time
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import InvalidBody, ProblemError, TooLarge
from app.core.npy import read_npy, write_npy
from app.sparse.matrix_market import read, write
from app.sparse.npz import read_npz
from tests.sparse.matrices import dense_of, sparse_values


def mtx(kind: str, *lines: str) -> bytes:
    return "\n".join((f"%%MatrixMarket matrix {kind}", *lines, "")).encode()


def dense(data: bytes) -> np.ndarray:
    value = read(data)
    return value if isinstance(value, np.ndarray) else dense_of(value)


MEANINGS = {
    "case, comments, blanks, CRLF": (
        b"\n  %%MATRIXMARKET MATRIX Coordinate REAL general\r\n%\r\n% 9 9 9\r\n\r\n2 2 2\r\n"
        b"% between\r\n1 1 1.\r\n\r\n2 1 -.5e0\r\n",
        [[1, 0], [-0.5, 0]],
    ),
    "byte-order mark, latin-1, no final newline": (
        b"\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n%\xfc\n1 1 1\n1 1 2",
        [[2]],
    ),
    "D exponents": (
        mtx("coordinate real general", "1 2 2", "1 1 0.1D+01", "1 2 25d-1"),
        [[1, 2.5]],
    ),
    "whole float indices": (mtx("coordinate real general", "1 2 1", "1.0 2.0 5"), [[0, 5]]),
    "range": (mtx("coordinate real general", "1 2 2", "1 1 1e400", "1 2 1e-400"), [[np.inf, 0]]),
    "double": (mtx("coordinate double general", "1 1 1", "1 1 3"), [[3]]),
    "pattern": (mtx("coordinate pattern general", "2 2 1", "2 1"), [[0, 0], [1, 0]]),
    "symmetric": (mtx("coordinate real symmetric", "2 2 2", "1 1 2", "2 1 3"), [[2, 3], [3, 0]]),
    "symmetric by its upper triangle": (
        mtx("coordinate real symmetric", "2 2 1", "1 2 3"),
        [[0, 3], [3, 0]],
    ),
    "skew": (mtx("coordinate integer skew-symmetric", "2 2 1", "2 1 3"), [[0, -3], [3, 0]]),
    "hermitian": (
        mtx("coordinate complex hermitian", "2 2 2", "1 1 2 0", "2 1 1 -3"),
        [[2, 1 + 3j], [1 - 3j, 0]],
    ),
    "array by columns": (mtx("array real general", "2 2", "1", "2", "3", "4"), [[1, 3], [2, 4]]),
    "array symmetric": (mtx("array real symmetric", "2 2", "1", "2", "3"), [[1, 2], [2, 3]]),
    "array skew": (
        mtx("array real skew-symmetric", "3 3", "1", "2", "3"),
        [[0, -1, -2], [1, 0, -3], [2, 3, 0]],
    ),
    "array hermitian": (
        mtx("array complex hermitian", "2 2", "1 0", "2 5", "3 0"),
        [[1, 2 - 5j], [2 + 5j, 3]],
    ),
    "array 0 x 3": (mtx("array real general", "0 3"), np.zeros((0, 3))),
    "0 x 3": (mtx("coordinate real general", "0 3 0"), np.zeros((0, 3))),
    "64-bit integers": (
        mtx("coordinate integer general", "1 1 1", "1 1 9223372036854775807"),
        np.array([[2**63 - 1]]),
    ),
    "unsigned": (
        mtx("coordinate unsigned-integer general", "1 1 1", "1 1 18446744073709551615"),
        np.array([[2**64 - 1]], np.uint64),
    ),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_reads(name):
    data, expected = MEANINGS[name]
    for content in (data, gzip.compress(data)):
        got = dense(content)
        assert got.shape == np.shape(expected)
        np.testing.assert_array_equal(got, expected)


FAULTS = [
    (b"3 3 1\n1 1 1.0\n", 1, "banner"),
    (b"", 1, "banner"),
    (mtx("coordinate quaternion general", "1 1 0"), 1, "quaternion"),
    (mtx("coordinate real hermitian", "1 1 0"), 1, "complex"),
    (mtx("array pattern general", "1 1", "1"), 1, "pattern"),
    (mtx("coordinate real general"), None, "size line"),
    (mtx("coordinate real general", "2 -2 1", "1 1 1"), 2, "size line"),
    (mtx("coordinate real general", "2 2 1", "3 1 3.0"), 3, "row index 3"),
    (mtx("coordinate real general", "2 2 1", "1 0 3.0"), 3, "column index 0"),
    (mtx("coordinate real general", "2 2 1", "1.5 1 3.0"), 3, "row index 1.5"),
    (mtx("coordinate real general", "2 2 1", "nan 1 3.0"), 3, "row index nan"),
    (mtx("coordinate real general", "2 2 3", "1 1 1", "2 2 2"), None, "cut off"),
    (mtx("coordinate real general", "2 2 1", "1 1 1", "", "2 2 2"), 5, "more lines"),
    (mtx("coordinate real general", "2 2 2", "1 1 1 2", "2 2"), 3, "4 numbers"),
    (mtx("coordinate real general", "2 2 2", "1 1 1", "2 2 x"), 4, "'x'"),
    (mtx("coordinate real general", "1 1 1", "1 1 0x10"), 3, "0x10"),
    (mtx("coordinate integer general", "1 1 1", "1 1 18446744073709551616"), 3, "range"),
    (mtx("coordinate integer general", "1 1 1", "1 1 " + "9" * 5000), 3, "64 bits"),
    (mtx("coordinate integer general", "1 1 1", "1 1 1.5"), 3, "integer"),
    (mtx("coordinate unsigned-integer general", "1 1 1", "1 1 -5"), 3, "negative"),
    (mtx("coordinate real symmetric", "2 2 2", "1 2 -1", "2 1 -1"), 4, "both triangles"),
    (mtx("coordinate real symmetric", "2 3 1", "1 2 -1"), None, "square"),
    (mtx("coordinate real skew-symmetric", "2 2 1", "1 1 5"), 3, "diagonal"),
    (mtx("coordinate complex hermitian", "2 2 1", "1 1 5 1"), 3, "diagonal"),
    (mtx("coordinate real general", "1000000 1000000 900000000000", "1 1 1.0"), None, "cut off"),
    (mtx("array real general", "100000 100000", "1.0"), None, "cut off"),
    (gzip.compress(mtx("array real general", "1 1", "1"))[:-9], None, "gzip"),
    (b"\x1f\x8b rubbish", None, "gzip"),
]


@pytest.mark.parametrize(("data", "line", "words"), FAULTS)
def test_names_the_fault(data, line, words):
    with pytest.raises(InvalidBody, match=words) as caught:
        read(data)
    assert line in (None, caught.value.line)


def test_a_bomb_costs_its_bound():
    bomb = gzip.compress(mtx("coordinate real general") + b"%x\n" * 20_000_000)
    began = time.monotonic()
    with pytest.raises(TooLarge):
        read(bomb, max_bytes=2**20)
    assert time.monotonic() - began < 0.5


@settings(max_examples=60, deadline=None)
@given(sparse_values(layouts=("coo",), dtype=np.complex128))
def test_scipy_reads_what_is_written(value):
    for values in (value.parts["values"], value.parts["values"].real):
        parts = {**value.parts, "values": values}
        other = type(value)("coo", value.shape, parts)
        back = read(write(other))
        np.testing.assert_array_equal(back.parts["values"], values)
        if min(value.shape) > 0:
            theirs = scipy.io.mmread(io.BytesIO(write(other))).toarray()
            np.testing.assert_allclose(theirs, dense_of(other), atol=1e-15)


def test_a_million_entries_in_seconds():
    n = 10**6
    rng = np.random.default_rng(0)
    row, col = rng.integers(0, n, (2, n))
    value = type(read(MEANINGS["range"][0]))(
        "coo", (n, n), {"row": row, "col": col, "values": rng.standard_normal(n)}
    )
    data = write(value)
    began = time.monotonic()
    back = read(data)
    took = time.monotonic() - began
    np.testing.assert_array_equal(back.parts["values"], value.parts["values"])
    np.testing.assert_array_equal(back.parts["row"], row)
    assert took < 6


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_mutilated_files_end_in_an_answer(data):
    source = data.draw(st.sampled_from([entry[0] for entry in MEANINGS.values()]))
    text = bytearray(source)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        read(bytes(text))
    except ProblemError as error:
        assert error.detail  # noqa: PT017


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia"])
def test_reads_scipy_npz(layout):
    matrix = scipy.sparse.random(6, 8, 0.4, format="csr", random_state=3)
    for compressed in (True, False):
        out = io.BytesIO()
        scipy.sparse.save_npz(out, matrix.asformat(layout), compressed=compressed)
        value = read_npz(out.getvalue())
        assert value.layout == (layout if layout in ("csr", "csc") else "coo")
        np.testing.assert_array_equal(dense_of(value), matrix.toarray())


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return out.getvalue()


def test_npz_refuses_pickles_lies_and_bombs():
    pickled = io.BytesIO()
    np.save(pickled, np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(InvalidBody, match="pickle"):
        read_npz(archive(data=pickled.getvalue()))
    good = {
        "format": b"\x93NUMPY\x01\x00\x3e\x00"
        + b"{'descr': '|S3', 'fortran_order': False, 'shape': (), }".ljust(62)
        + b"csr",
        "shape": write_npy(np.array([2, 2])),
        "indptr": write_npy(np.array([0, 1, 2])),
        "indices": write_npy(np.array([0, 1])),
        "data": write_npy(np.array([1.0, 2.0])),
    }
    np.testing.assert_array_equal(dense_of(read_npz(archive(**good))), np.diag([1.0, 2.0]))
    with pytest.raises(InvalidBody, match="out of range"):
        read_npz(archive(**{**good, "indices": write_npy(np.array([0, 9]))}))
    with pytest.raises(TooLarge):
        read_npz(archive(**{**good, "data": write_npy(np.zeros(10**6))}), max_bytes=10**5)
    with pytest.raises(InvalidBody):
        read_npz(archive(a=write_npy(np.zeros(3))))
    with pytest.raises(InvalidBody):
        read_npz(b"PK\x03\x04 not a zip")


@pytest.mark.parametrize("dtype", [">f8", "<f4", "|b1", ">i2", "<c16", "<u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_in_any_order(dtype, order):
    array = np.asarray(np.arange(6).reshape(2, 3) % 5, dtype=dtype, order=order)
    out = io.BytesIO()
    np.save(out, array)
    got = read_npy(out.getvalue())
    assert got.dtype == array.dtype.newbyteorder("=")
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, array)
    np.testing.assert_array_equal(read_npy(write_npy(got)), array)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 200), st.binary(max_size=4))
def test_mutilated_npy_ends_in_an_answer(at, piece):
    data = write_npy(np.arange(4.0))
    try:
        read_npy(data[:at] + piece + data[at + len(piece) :])
    except ProblemError as error:
        assert error.detail  # noqa: PT017
