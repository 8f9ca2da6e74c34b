"""Not-a-number, honestly: which outputs hold NaN or infinity that no input held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.compute.image import Resident
from app.core.codec.decode import pointer
from app.core.values import Leaf, SparseValue, Structure, places
from app.services.matrix import Matrix


def report(
    structure: Structure, outputs: Sequence[Leaf], inputs: Sequence[Any]
) -> list[dict[str, Any]]:
    """Per output with NaN or infinity: its pointer and counts; empty where inputs had any."""
    if all(_finite(leaf) for leaf in outputs) or not all(_finite(leaf) for leaf in inputs):
        return []
    return [
        {"output": pointer(("result", *path)), **_count(_entries(outputs[place]))}
        for path, place in places(structure)
        if not _finite(outputs[place])
    ]


def _entries(leaf: Any) -> np.ndarray:
    if isinstance(leaf, Resident):
        leaf = leaf.value
    if isinstance(leaf, Matrix):
        return leaf.canonical.values
    return leaf.parts["values"] if isinstance(leaf, SparseValue) else leaf


def _finite(leaf: Any) -> bool:
    entries = _entries(leaf)
    return entries.dtype.kind in "biu" or bool(
        np.logical_and.reduce(np.isfinite(entries), axis=None)
    )


def _count(entries: np.ndarray) -> dict[str, int]:
    missing = int(np.isnan(entries).sum())
    infinite = int(np.isinf(entries).sum())
    return {"nan": missing, "infinite": infinite, "of": int(entries.size)}
