"""What a solver's answer says in words and counts, taken out of its arrays.

A program of a solver returns its outcome as a code and its counts as integers; its metadata
names them. The client reads ``outcome``, ``success`` and ``statistics`` beside ``result``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.core.values import Structure


def told(
    structure: Structure, leaves: Sequence[Any], meta: Mapping[str, Any]
) -> tuple[Structure, dict[str, Any]]:
    """The structure without outcome and counts, and these as plain fields; lists under vmap."""
    sentences = meta.get("outcomes")
    if not sentences or not isinstance(structure, dict) or "outcome" not in structure:
        return structure, {}
    rest = dict(structure)
    codes = np.asarray(leaves[_leaf(rest.pop("outcome"))])
    said = np.asarray(sentences, dtype=object)[codes]
    fields: dict[str, Any] = {
        "outcome": said if isinstance(said, str) else said.tolist(),
        "success": np.isin(codes, meta["successes"]).tolist(),
    }
    counts = {
        name: np.asarray(leaves[_leaf(rest.pop(name))]).tolist()
        for name in meta["statistics"]
        if isinstance(rest.get(name), int)
    }
    return rest, {**fields, "statistics": counts}


def _leaf(structure: Structure) -> int:
    if not isinstance(structure, int):
        raise TypeError("an outcome is one array")
    return structure
