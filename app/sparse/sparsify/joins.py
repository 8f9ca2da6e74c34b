"""Matrices put side by side or on top of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import SparseMatrix, from_entries


def concatenate(matrices: Sequence[Any], axis: int = 0, **named: Any) -> SparseMatrix:
    """``jnp.concatenate`` of sparse matrices."""
    if not all(isinstance(matrix, SparseMatrix) for matrix in matrices):
        raise RefusedSource(
            "sparse and dense arrays are not joined",
            hint="write A.todense() for a dense result",
        )
    along = axis % 2
    if len({matrix.shape[1 - along] for matrix in matrices}) != 1:
        shapes = ", ".join(str(matrix.shape) for matrix in matrices)
        raise InvalidArgument(f"shapes {shapes} do not fit along axis {axis}")
    shape = list(matrices[0].shape)
    shape[along] = sum(matrix.shape[along] for matrix in matrices)
    places, offset = [], 0
    for matrix in matrices:
        place = list(matrix.coordinates())
        place[along] = jnp.where(matrix.valid(), place[along] + offset, shape[along])
        places.append(place)
        offset += matrix.shape[along]
    rows, cols = (jnp.concatenate(parts) for parts in zip(*places, strict=True))
    dtype = jnp.result_type(*(matrix.dtype for matrix in matrices))
    values = jnp.concatenate([matrix.values.astype(dtype) for matrix in matrices])
    return from_entries(rows, cols, values, (shape[0], shape[1]))


def vstack(matrices: Sequence[Any], **named: Any) -> SparseMatrix:
    """``jnp.vstack``."""
    return concatenate(matrices, 0)


def hstack(matrices: Sequence[Any], **named: Any) -> SparseMatrix:
    """``jnp.hstack``."""
    return concatenate(matrices, 1)


TABLE: dict[str, Callable[..., Any]] = {
    "concatenate": concatenate,
    "concat": concatenate,
    "vstack": vstack,
    "hstack": hstack,
}
