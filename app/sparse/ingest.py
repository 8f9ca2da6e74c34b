"""A client's sparse value, checked whole and made canonical CSR once, on the host.

Every layout ends as the same ``Canonical``, so what works for one works for all, and a program
compiled for CSR serves COO. Duplicates are summed; the map back gives each its cell's gradient.
NumPy only.
"""

from __future__ import annotations

import numpy as np

from app.core.values import SparseValue
from app.sparse import validate
from app.sparse.batched import bcoo, bcsr
from app.sparse.canonical import Canonical
from app.sparse.compressed import compressed, coo

MAX_ROWS = 2**24


def ingest(value: SparseValue, *, max_rows: int = MAX_ROWS) -> Canonical:
    """Check ``value`` and bring it to canonical CSR; O(nnz) when it is CSR in order already.

    bcoo and bcsr may have leading batch dimensions. A bcoo of one sparse dimension becomes one
    row; of three or more, its leading dimensions become rows, in row-major order.
    Raises InvalidArgument (its pointer is relative to the value) or LimitExceeded.
    """
    validate.check_form(value)
    parts = {name: np.asarray(part) for name, part in value.parts.items()}
    match value.layout:
        case "coo":
            return coo(value.shape, parts, max_rows)
        case "csr" | "csc":
            return compressed(value.layout, value.shape, parts, max_rows)
        case "bcoo":
            return bcoo(value.shape, parts, max_rows)
        case _:
            return bcsr(value.shape, parts, max_rows)
