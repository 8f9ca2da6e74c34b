"""Binned patterns count every stored entry once, in the cell where it lies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from app.core.values import SparseValue
from app.sparse.ingest import ingest
from app.sparse.spy import binned


@pytest.mark.parametrize(("shape", "bins"), [((40, 60), 8), ((5, 7), 64), ((0, 3), 4), ((9, 1), 4)])
def test_counts_are_those_of_a_histogram(shape: tuple[int, int], bins: int) -> None:
    matrix = sp.random(*shape, density=0.3, format="coo", random_state=0)
    parts = {"row": matrix.row, "col": matrix.col, "values": matrix.data}
    counts = binned(ingest(SparseValue("coo", shape, parts)), bins)
    height, width = min(bins, shape[0]), min(bins, shape[1])
    wanted = np.zeros((height, width), int)
    for row, col in zip(matrix.row, matrix.col, strict=True):
        wanted[row * height // shape[0], col * width // shape[1]] += 1
    np.testing.assert_array_equal(counts, wanted)


def test_a_batch_is_counted_together() -> None:
    indices = np.array([[[0, 1], [1, 2]], [[0, 0], [1, 2]]])
    value = SparseValue("bcoo", (2, 2, 3), {"indices": indices, "values": np.ones((2, 2))})
    np.testing.assert_array_equal(binned(ingest(value), 9), [[1, 1, 0], [0, 0, 2]])
