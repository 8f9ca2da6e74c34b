"""Sparse matrices made wrong in many ways, the same ones every time.

``GRADSERVE_TEST_MATRICES=10000 make test ARGS="-k malformed_matrices"`` tries ten thousand of them
at ingest and as many calls over HTTP; the suite tries fewer.
"""

from __future__ import annotations

import os

import numpy as np

from app.core.values import SparseValue
from tests.sparse.matrices import LAYOUTS, value_of

GIVEN = os.environ.get("GRADSERVE_TEST_MATRICES")
AT_INGEST = int(GIVEN or 3000)
OVER_HTTP = int(GIVEN or 300)


def mangled(rng: np.random.Generator) -> SparseValue:
    """A sound matrix with one to three parts made wrong in one of many ways."""
    m, n, nnz = (int(k) for k in rng.integers(0, 6, 3))
    nnz = nnz if m and n else 0
    rows, cols = rng.integers(0, max(m, 1), nnz), rng.integers(0, max(n, 1), nnz)
    layout = LAYOUTS[rng.integers(5)]
    value = value_of(layout, rows, cols, rng.standard_normal(nnz), (m, n))
    parts, shape = dict(value.parts), list(value.shape)
    for _ in range(rng.integers(1, 4)):
        name = list(parts)[rng.integers(len(parts))]
        part = parts[name]
        match rng.integers(9):
            case 0 if part.size and part.dtype.kind in "if" and part.dtype.itemsize == 8:
                part = part.copy()
                extreme = [-1, 7, 2**31, -(2**31), 2**62]
                part.flat[rng.integers(part.size)] = extreme[rng.integers(5)]
            case 1:
                part = part[: rng.integers(len(part) + 1)] if part.ndim else part
            case 2:
                part = part[::-1]
            case 3:
                kinds = ["f8", "f2", "c16", "?", "u8", "i1", "U3", "O", "M8[s]"]
                with np.errstate(all="ignore"):
                    part = np.zeros(part.shape, kinds[rng.integers(9)])
            case 4:
                part = np.stack([part, part]) if rng.integers(2) else part.reshape(-1)
            case 5:
                shape = shape[:-1] if rng.integers(2) else [*shape, 3]
            case 6:
                sizes = [-1, 0, 2**31, 2**63, 10**6, 2.5, True]
                if shape:
                    shape[rng.integers(len(shape))] = sizes[rng.integers(7)]
            case 7:
                part = np.concatenate([part, part]) if part.ndim else part
            case 8:
                layout = LAYOUTS[rng.integers(5)]
        parts[name] = part
    return SparseValue(layout, tuple(shape), parts)
