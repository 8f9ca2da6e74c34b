"""Sparse leaves of a call: canonical CSR buffers for the program, the client's own form outside.

Whatever a client sends is checked and made canonical once; what comes back lies in the layout
and order that the client used, or in the one that it asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.compute.image import Resident
from app.core.values import Aval, Leaf, SparseValue
from app.sparse.canonical import Canonical, with_values
from app.sparse.convert import in_layout_of, to_layout
from app.sparse.ingest import ingest

BUFFERS = 3
"""A matrix is values, indices and indptr, in this order."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A sparse argument: as the client sent it, and as the program takes it.

    ``id`` names an uploaded array, whose buffers may lie on the device already.
    """

    value: SparseValue
    canonical: Canonical
    padded: Canonical
    id: str | None = None

    @classmethod
    def of(cls, value: SparseValue, array_id: str | None = None) -> Matrix:
        """Check a client's value; raises InvalidArgument with a relative pointer. O(nnz)."""
        canonical = ingest(value)
        return cls(value, canonical, canonical.padded(), array_id)

    def aval(self) -> Aval:
        """What a program is compiled for."""
        return self.canonical.aval()

    def buffers(self) -> list[np.ndarray | Resident]:
        """The arrays that a program takes."""
        inner = self.padded
        parts = (("values", inner.values), ("indices", inner.indices), ("indptr", inner.indptr))
        if self.id is None:
            return [part for _, part in parts]
        return [Resident(f"{self.id}.{name}", part) for name, part in parts]

    def holding(self, values: np.ndarray, layout: str | None, *, per_entry: bool) -> SparseValue:
        """A matrix on this pattern with ``values``, one a canonical cell, in any batch.

        In the client's layout and order where these can hold it. A cell that the client sent
        twice is one entry, for entries of a cell are summed; ``per_entry`` echoes it to both.
        """
        batch = values.shape[:-1] != self.canonical.batch
        moved = layout not in (None, self.value.layout)
        if batch or moved or (self.canonical.repeats and not per_entry):
            return in_layout_of(self.value, self.canonical.holding(values), layout)
        return with_values(self.value, self.canonical.to_client(values))


def flatten(leaves: Sequence[Any]) -> Sequence[Any]:
    """Leaves as the buffers that a program takes."""
    if not any(type(leaf) is Matrix for leaf in leaves):
        return leaves
    return [
        buffer
        for leaf in leaves
        for buffer in (leaf.buffers() if isinstance(leaf, Matrix) else (leaf,))
    ]


def gather(
    buffers: Sequence[np.ndarray],
    meta: Mapping[str, Any],
    leaves: Sequence[Any],
    layout: str | None,
    *,
    summed: bool = False,
) -> list[Leaf]:
    """The leaves of a result from its buffers, sparse ones in ``layout`` or as the input they
    are like (``meta["like"]``: result leaf to input leaf).

    A leaf of ``meta["gradients"]`` has one number for each entry that the client sent, unless a
    layout was asked for or it is to be ``summed``: used as a matrix, not read beside the entries.
    """
    if all(wire[2] == "dense" for wire in meta["out_avals"]):
        return list(buffers)
    like: Mapping[str, int] = meta.get("like", {})
    gradients = () if summed or layout else meta.get("gradients", ())
    given = iter(buffers)
    gathered: list[Leaf] = []
    for place, wire in enumerate(meta["out_avals"]):
        aval = Aval.from_wire(wire)
        if aval.layout == "dense":
            gathered.append(next(given))
        elif str(place) in like:
            source = leaves[like[str(place)]]
            echoed = place in gradients
            gathered.append(source.holding(next(given), layout, per_entry=echoed))
        else:
            values, indices, indptr = (next(given) for _ in range(BUFFERS))
            rows_cols = (aval.shape[-2], aval.shape[-1])
            matrix = Canonical(rows_cols, values, indices, indptr)
            gathered.append(to_layout(matrix, layout or _usual(matrix, leaves)))
    return gathered


def _usual(matrix: Canonical, leaves: Sequence[Any]) -> str:
    """The layout of a matrix on a pattern of its own."""
    if not matrix.batch:
        return "csr"
    sent = [leaf.value.layout for leaf in leaves if isinstance(leaf, Matrix)]
    return "bcsr" if sent and set(sent) <= {"csr", "bcsr"} else "bcoo"
