"""Ingest: right for every layout, and nothing malformed gets past it."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import InvalidArgument, LimitExceeded, ProblemError
from app.core.values import SparseValue
from app.sparse.bucket import bucket
from app.sparse.canonical import Canonical
from app.sparse.convert import convert, to_dense
from app.sparse.ingest import ingest
from tests.sparse.malformed import AT_INGEST, mangled
from tests.sparse.matrices import LAYOUTS, dense_of, entries_of, sparse_values, value_of


def assert_canonical(matrix: Canonical) -> None:
    for at in np.ndindex(matrix.batch):
        indptr, indices = matrix.indptr[at], matrix.indices[at]
        assert indptr.dtype == indices.dtype == np.int32
        assert indptr[0] == 0
        assert np.all(np.diff(indptr) >= 0)
        assert indptr[-1] <= matrix.capacity
        for begin, end in pairwise(indptr):
            assert np.all(np.diff(indices[begin:end]) > 0)
        real = indices[: indptr[-1]]
        assert np.all((real >= 0) & (real < matrix.shape[1]))
        assert np.all(indices[indptr[-1] :] == matrix.shape[1])
        assert np.all(matrix.values[at][indptr[-1] :] == 0)


@settings(max_examples=300, deadline=None)
@given(sparse_values())
def test_means_what_the_client_sent(value):
    matrix = ingest(value)
    assert_canonical(matrix)
    assert_canonical(matrix.padded())
    np.testing.assert_allclose(to_dense(value), dense_of(value), atol=1e-14)


@settings(max_examples=200, deadline=None)
@given(sparse_values())
def test_cell_values_come_back_in_the_order_sent(value):
    matrix = ingest(value).padded()
    weights = np.arange(np.prod(value.shape), dtype=float).reshape(value.shape)
    cells = np.zeros(matrix.capacity)
    cells[: matrix.nnz] = weights[matrix.rows(), matrix.indices[: matrix.nnz]]
    sent = matrix.to_client(cells)
    if matrix.cells is None:
        sent = sent[: len(value.parts["values"])]
    np.testing.assert_array_equal(sent, weights[entries_of(value)])


@settings(max_examples=300, deadline=None)
@given(sparse_values(), st.sampled_from(LAYOUTS))
def test_converts_between_all_layouts(value, layout):
    other = convert(value, layout)
    assert other.layout == layout
    np.testing.assert_allclose(dense_of(other), dense_of(value), atol=1e-14)


@pytest.mark.parametrize(
    "dtype", ["float32", "complex64", "complex128", "int64", "bool", "float16"]
)
def test_sums_duplicates_in_their_own_type(dtype):
    value = value_of("coo", [0, 0, 1], [1, 1, 0], np.ones(3, dtype), (2, 2))
    matrix = ingest(value)
    assert matrix.values.dtype == dtype
    np.testing.assert_array_equal(matrix.values, np.array([2, 1]).astype(dtype))


def test_keeps_explicit_zeros():
    value = value_of("coo", [0, 0, 1], [1, 1, 0], [1.0, -1.0, 0.0], (2, 2))
    assert ingest(value).nnz == 2


def test_bucket_wastes_an_eighth_at_most():
    sizes = [*range(2000), 10**6, 2**30, 2**31 - 1]
    assert all(n <= bucket(n) <= max(16, n * 1.125 + 1) for n in sizes)
    assert len({bucket(n) for n in range(1000, 10**6)}) < 90


REFUSED = [
    ("coo", {"row": [0, -1], "col": [0, 0], "values": [1.0, 5.0]}, (2, 2), "/row/1"),
    ("coo", {"row": [1, 2, 3], "col": [1, 2, 3], "values": [1.0] * 3}, (3, 3), "/row/2"),
    ("coo", {"row": [0.0, 1.5], "col": [0, 1], "values": [1.0, 2.0]}, (2, 2), "/row/1"),
    ("coo", {"row": [0, 1], "col": [0], "values": [1.0, 2.0]}, (2, 2), "/col"),
    ("coo", {"row": [0], "col": [0]}, (2, 2), "/values"),
    ("coo", {"row": [0], "col": [0], "values": [1.0], "x": [0]}, (2, 2), "/x"),
    ("coo", {"row": [0], "col": [0], "values": [1.0]}, (2, 2, 2), "/shape"),
    ("coo", {"row": [0], "col": [0], "values": [1.0]}, (2, -2), "/shape/1"),
    ("coo", {"row": [0], "col": [2**40], "values": [1.0]}, (2, 2), "/col/0"),
    ("coo", {"row": [True], "col": [0], "values": [1.0]}, (2, 2), "/row"),
    ("coo", {"row": [np.nan], "col": [0], "values": [1.0]}, (2, 2), "/row/0"),
    ("csr", {"indptr": [0, 2, 1], "indices": [0, 1], "values": [1.0, 2.0]}, (2, 2), "/indptr/2"),
    ("csr", {"indptr": [1, 1, 2], "indices": [0, 1], "values": [1.0, 2.0]}, (2, 2), "/indptr/0"),
    ("csr", {"indptr": [0, 1, 3], "indices": [0, 1], "values": [1.0, 2.0]}, (2, 2), "/indptr/2"),
    ("csr", {"indptr": [0, 1, 1], "indices": [0, 1], "values": [1.0, 2.0]}, (2, 2), "/indptr/2"),
    ("csr", {"indptr": [0, 2], "indices": [0, 1], "values": [1.0, 2.0]}, (2, 2), "/indptr"),
    ("csc", {"indptr": [0, 1, 2], "indices": [0, 5], "values": [1.0, 2.0]}, (2, 2), "/indices/1"),
    ("bcoo", {"indices": [[0, 1], [0, 7]], "values": [1.0, 2.0]}, (2, 2), "/indices/1/1"),
    ("bcoo", {"indices": [0, 1], "values": [1.0, 2.0]}, (2, 2), "/indices"),
    ("bcoo", {"indices": [[0, 1]], "values": [[1.0, 2.0]]}, (2, 2), "/indices"),
    ("bcsr", {"indptr": [[0, 1]], "indices": [[3]], "values": [[1.0]]}, (1, 1, 3), "/indices/0/0"),
    ("dia", {"values": [1.0]}, (2, 2), "/layout"),
]


@pytest.mark.parametrize(("layout", "parts", "shape", "pointer"), REFUSED)
def test_names_the_offending_entry(layout, parts, shape, pointer):
    arrays = {name: np.asarray(part) for name, part in parts.items()}
    with pytest.raises(InvalidArgument) as caught:
        ingest(SparseValue(layout, shape, arrays))
    assert caught.value.pointer == pointer


def test_a_short_body_cannot_ask_for_gigabytes():
    value = value_of("coo", [0], [0], [1.0], (2**31 - 1, 2))
    with pytest.raises(LimitExceeded):
        ingest(value)


def test_batches():
    first, second = np.array([[1.0, 0, 2], [0, 0, 3]]), np.array([[0.0, 4, 0], [0, 0, 0]])
    indices = np.array([[[0, 2], [0, 0], [1, 2]], [[0, 1], [2, 3], [2, 3]]])
    values = np.array([[2.0, 1, 3], [4, 0, 0]])
    value = SparseValue("bcoo", (2, 2, 3), {"indices": indices, "values": values})
    matrix = ingest(value)
    assert_canonical(matrix)
    np.testing.assert_array_equal(to_dense(value), [first, second])
    np.testing.assert_array_equal(matrix.to_client(matrix.values), values)
    other = convert(value, "bcsr")
    np.testing.assert_array_equal(to_dense(other), [first, second])
    np.testing.assert_array_equal(to_dense(convert(other, "bcoo")), [first, second])
    with pytest.raises(InvalidArgument):
        convert(value, "csr")


def test_more_than_two_sparse_dimensions_become_rows():
    indices = np.array([[1, 0, 2], [0, 1, 1]])
    value = SparseValue("bcoo", (2, 2, 3), {"indices": indices, "values": np.array([5.0, 6.0])})
    assert ingest(value).shape == (4, 3)
    expected = np.zeros((2, 2, 3))
    expected[1, 0, 2], expected[0, 1, 1] = 5, 6
    np.testing.assert_array_equal(to_dense(value), expected)


def test_malformed_matrices():
    rng = np.random.default_rng(7)
    refused, began = [], time.monotonic()
    for _ in range(AT_INGEST):
        value = mangled(rng)
        try:
            matrix = ingest(value)
        except ProblemError as error:
            refused.append((error.status, bool(error.pointer)))
        else:
            if max(matrix.shape) < 100:
                assert_canonical(matrix)
                assert_canonical(matrix.padded())
    assert len(refused) > 0.3 * AT_INGEST
    assert set(refused) == {(422, True)}
    assert time.monotonic() - began < 60
