"""Where a matrix has its entries: counts on a coarse grid, whatever its size."""

from __future__ import annotations

import numpy as np

from app.sparse.canonical import Canonical

MAX_BINS = 512


def binned(matrix: Canonical, bins: int) -> np.ndarray:
    """Stored entries per cell of a grid of at most ``bins`` by ``bins``: ``int64[r, c]``. O(nnz).

    Cell (i, j) counts the rows from ``i * rows / r`` on and the columns from ``j * cols / c`` on.
    The matrices of a batch are counted together.
    """
    rows, cols = matrix.shape
    height, width = min(bins, rows), min(bins, cols)
    if height == 0 or width == 0:
        return np.zeros((height, width), np.int64)
    counts = np.zeros(height * width, np.int64)
    for one in matrix.each():
        down = one.rows().astype(np.int64) * height // rows
        across = one.indices[: one.nnz].astype(np.int64) * width // cols
        counts += np.bincount(down * width + across, minlength=height * width)
    return counts.reshape(height, width)
