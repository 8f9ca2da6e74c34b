"""where, clip, max and min of a matrix with bounds: results that stay sparse."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from app.core.errors import RefusedSource
from app.sparse.matrix import SparseMatrix, is_static, union
from app.sparse.sparsify.binary import TABLE as BINARY
from app.sparse.sparsify.binary import check_shapes
from app.sparse.sparsify.refusals import would_fill


def where(condition: Any, x: Any, y: Any) -> SparseMatrix:
    """``jnp.where`` with sparse operands; what holds outside the patterns must be 0."""
    operands = [condition, x, y]
    matrices = [op for op in operands if isinstance(op, SparseMatrix)]
    A = matrices[0]
    for op in operands:
        check_shapes(A, op)
    outside = [y] if isinstance(condition, SparseMatrix) else [x, y]
    for op in outside:
        if not isinstance(op, SparseMatrix) and not _is_zero(op):
            raise would_fill("jnp.where with a value that is not 0 outside the pattern", A)
    pattern = A
    for other in matrices[1:]:
        pattern, _, _ = union(pattern, other)
    values = [_on(pattern, op) for op in operands]
    return pattern.with_values(jnp.where(*values))


def _on(pattern: SparseMatrix, operand: Any) -> Any:
    """An operand's values on the pattern, which holds all its cells."""
    if not isinstance(operand, SparseMatrix):
        return operand if jnp.ndim(operand) == 0 else pattern.at_entries(operand, 0)
    _, _, values = union(pattern, operand)
    return values[: pattern.capacity]


def _is_zero(value: Any) -> bool:
    return is_static(value) and not bool(np.any(np.asarray(value) != 0))


def clip(A: SparseMatrix, a_min: Any = None, a_max: Any = None, **named: Any) -> SparseMatrix:
    """``jnp.clip`` between static bounds that hold 0 between them."""
    low = named.get("min", a_min)
    high = named.get("max", a_max)
    if not isinstance(A, SparseMatrix):
        raise RefusedSource("clip takes the sparse matrix first")
    if low is not None:
        A = BINARY["maximum"](A, low)
    return A if high is None else BINARY["minimum"](A, high)


TABLE = {"where": where, "clip": clip}
