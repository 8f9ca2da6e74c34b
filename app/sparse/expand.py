"""Spell out the symmetry of a Matrix Market file: one triangle is stored, both are meant."""

from __future__ import annotations

import numpy as np

from app.core.errors import InvalidBody
from app.sparse.tokens import Tokens


def expand_entries(
    symmetry: str, row: np.ndarray, col: np.ndarray, values: np.ndarray, tokens: Tokens
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of the stored triangle, then their mirror images; the diagonal is not repeated.

    Either triangle may be the stored one; both in one file is refused, for it has no one meaning.
    """
    per_entry = max(1, len(tokens.lines) // max(1, len(row)))
    lower, upper, diagonal = row > col, row < col, row == col
    if lower.any() and upper.any():
        side = upper if np.argmax(lower) < np.argmax(upper) else lower
        raise InvalidBody(
            f"a {symmetry} file stores one triangle; this has entries in both triangles",
            line=int(tokens.lines[int(np.argmax(side)) * per_entry]),
        )
    wrong = diagonal & _off_diagonal(symmetry, values)
    if wrong.any():
        raise InvalidBody(
            f"this diagonal entry cannot be in a {symmetry} matrix",
            line=int(tokens.lines[int(np.argmax(wrong)) * per_entry]),
        )
    off = ~diagonal
    mirrored = _mirror(symmetry, values[off])
    return (
        np.concatenate([row, col[off]]),
        np.concatenate([col, row[off]]),
        np.concatenate([values, mirrored]),
    )


def expand_array(symmetry: str, size: int, values: np.ndarray) -> np.ndarray:
    """The full matrix whose lower triangle is packed in ``values`` by columns."""
    col, row = np.triu_indices(size, 1 if symmetry == "skew-symmetric" else 0)
    full = np.zeros((size, size), values.dtype)
    full[col, row] = _mirror(symmetry, values)
    full[row, col] = values
    return full


def _mirror(symmetry: str, values: np.ndarray) -> np.ndarray:
    if symmetry == "skew-symmetric":
        return np.negative(values)
    return values.conj() if symmetry == "hermitian" else values


def _off_diagonal(symmetry: str, values: np.ndarray) -> np.ndarray:
    """Values that may not stand on the diagonal."""
    if symmetry == "skew-symmetric":
        return values != 0
    if symmetry == "hermitian":
        return np.imag(values) != 0
    return np.zeros(len(values), bool)
