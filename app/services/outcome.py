"""What a solver's answer says in words and counts, taken out of its arrays.

A program of a solver returns its outcome as a code and its counts as integers; its metadata
names them. The client reads ``outcome``, ``success`` and ``statistics`` beside ``result``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from app.core.values import Structure, places

ROOMS: Mapping[str, Mapping[str, int]] = {"dense": {"t": 1, "coefficients": 0}}
"""Results with room for more steps than were taken: how many entries each has beyond these."""


def told(
    structure: Structure, leaves: list[Any], meta: Mapping[str, Any]
) -> tuple[Structure, dict[str, Any]]:
    """The structure without outcome and counts, and these as plain fields; lists under vmap.

    Room that was not needed is cut off ``leaves``, save under vmap, where all have one length.
    """
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
    if not codes.ndim:
        _trim(rest, leaves, counts)
    return rest, {**fields, "statistics": counts}


def _trim(structure: dict[str, Any], leaves: list[Any], counts: Mapping[str, int]) -> None:
    for name, parts in ROOMS.items():
        if name in structure:
            taken = counts["steps"] - counts["rejected"]
            for part, further in parts.items():
                for _, leaf in places(structure[name][part]):
                    leaves[leaf] = leaves[leaf][: taken + further]


def _leaf(structure: Structure) -> int:
    if not isinstance(structure, int):
        raise TypeError("an outcome is one array")
    return structure
