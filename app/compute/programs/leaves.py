"""Leaves of a spec as JAX sees them: a dense array is one buffer, a sparse matrix three.

A sparse matrix is a pytree, so trees of arguments pass through JAX's transformations as they
are; derivatives are taken in its values alone, at the pattern it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from app.core.values import Aval
from app.sparse.matrix import SparseMatrix, onto

Tree = Any


def is_sparse(value: Any) -> bool:
    """Whether a node of a tree is a sparse matrix."""
    return isinstance(value, SparseMatrix)


def abstract(aval: Aval) -> jax.ShapeDtypeStruct | SparseMatrix:
    """The JAX shape of an input in the current numeric mode; a matrix of shapes where sparse."""
    dtype = jax.dtypes.canonicalize_dtype(aval.dtype)
    if aval.layout == "dense":
        return jax.ShapeDtypeStruct(aval.shape, dtype)
    *batch, rows, cols = aval.shape
    indices = jax.ShapeDtypeStruct((*batch, aval.nse or 0), jnp.int32)
    indptr = jax.ShapeDtypeStruct((*batch, rows + 1), jnp.int32)
    values: Any = jax.ShapeDtypeStruct(indices.shape, dtype)
    return SparseMatrix(values, indices, indptr, (rows, cols))  # pyright: ignore[reportArgumentType]


def values_of(tree: Tree) -> Tree:
    """``tree`` with each sparse matrix replaced by its values: what derivatives are taken in."""
    return jax.tree.map(
        lambda leaf: leaf.values if is_sparse(leaf) else leaf, tree, is_leaf=is_sparse
    )


def with_values(tree: Tree, values: Tree) -> Tree:
    """``tree`` holding other values, its matrices keeping their patterns; inverse of values_of."""
    return jax.tree.map(
        lambda leaf, value: replace(leaf, values=value) if is_sparse(leaf) else value,
        tree,
        values,
        is_leaf=is_sparse,
    )


def lined_up(tree: Tree, directions: Tree) -> Tree:
    """Directions as ``values_of(tree)`` holds them: matrices, sparse or dense, at its entries.

    What a direction has elsewhere takes no part: what is not stored is constant.
    """

    def values(leaf: Any, given: Any) -> Any:
        return onto(leaf, given) if is_sparse(leaf) and given is not None else given

    return jax.tree.map(values, tree, directions, is_leaf=is_sparse)


def matrices(tree: Tree) -> list[SparseMatrix]:
    """The sparse matrices of a tree, in order."""
    return [leaf for leaf in jax.tree.leaves(tree, is_leaf=is_sparse) if is_sparse(leaf)]


def sources(tree: Tree, inputs: Tree) -> list[int | None]:
    """For each matrix of ``tree``, which of those of ``inputs`` has its very pattern."""
    given = matrices(inputs)
    return [_source(matrix, given) for matrix in matrices(tree)]


def batch_of(matrix: SparseMatrix) -> tuple[int, ...]:
    """The leading axes of a matrix of a batch, mapped by ``vmap``; ``()`` for one matrix."""
    return tuple(matrix.indptr.shape[:-1])


@dataclass(frozen=True, slots=True)
class Results:
    """Result leaves as buffers, with their avals and, by leaf, the input whose pattern it has."""

    buffers: list[Any]
    avals: tuple[Aval, ...]
    like: dict[str, int]

    @classmethod
    def of(cls, outputs: Sequence[Any], inputs: Sequence[Any]) -> Results:
        """Take the leaves of a result apart.

        A matrix on the very index arrays of an input gives its values alone; any other gives
        values, indices and indptr in canonical order.
        """
        buffers: list[Any] = []
        avals: list[Aval] = []
        like: dict[str, int] = {}
        for place, leaf in enumerate(outputs):
            if not is_sparse(leaf):
                array = jnp.asarray(leaf)
                buffers.append(array)
                avals.append(Aval(array.dtype.name, tuple(array.shape)))
                continue
            source = _source(leaf, inputs)
            matrix = leaf if source is not None else _canonical(leaf)
            if source is not None:
                like[str(place)] = source
                buffers.append(matrix.values)
            else:
                buffers += [matrix.values, matrix.indices, matrix.indptr]
            avals.append(_aval(matrix))
        return cls(buffers, tuple(avals), like)


def _aval(matrix: SparseMatrix) -> Aval:
    *batch, capacity = matrix.values.shape
    return Aval(matrix.values.dtype.name, (*batch, *matrix.shape), "csr", capacity)


def _canonical(matrix: SparseMatrix) -> SparseMatrix:
    """The matrix, or each of a batch, stored as it is seen."""
    function = SparseMatrix.canonical
    for _ in batch_of(matrix):
        function = jax.vmap(function)
    return function(matrix)


def _source(matrix: SparseMatrix, inputs: Sequence[Any]) -> int | None:
    for place, given in enumerate(inputs):
        same = is_sparse(given) and not matrix.transposed
        if same and matrix.indices is given.indices and matrix.indptr is given.indptr:
            return place
    return None
