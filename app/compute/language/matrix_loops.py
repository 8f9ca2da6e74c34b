"""Loops and branches of ``lax`` that sparse matrices pass through.

A matrix carried through a loop keeps its pattern, and its values alone are carried: the body then
knows that it lies on the very cells of the matrix that it started as, and ``B + A`` is no union.
Branches agree on how a matrix is stored. Where nothing is sparse these are JAX's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any

import jax
from jax import lax

from app.compute.language.matrix_transforms import holds_sparse, on_pattern
from app.compute.programs.leaves import Tree, batch_of, is_sparse, matrices, values_of
from app.core.errors import RefusedSource
from app.sparse.matrix import same_pattern

MARKS = (".values", ".indices", ".indptr", "SparseMatrix", "pytree metadata")
"""What JAX calls the parts of a matrix where two trees do not agree."""

Change = Callable[[Tree], Tree]


class _ElsewhereError(Exception):
    """A body gives a matrix that is not known to lie on the pattern that it started with."""


@wraps(lax.fori_loop)
def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Tree, **options: Any) -> Tree:
    def run(start: Tree, enter: Change, leave: Change) -> Tree:
        def body(i: Any, carry: Tree) -> Tree:
            return leave(body_fun(i, enter(carry)))

        return enter(lax.fori_loop(lower, upper, body, start, **options))

    return _carrying(init_val, run)


@wraps(lax.while_loop)
def while_loop(cond_fun: Any, body_fun: Any, init_val: Tree) -> Tree:
    def run(start: Tree, enter: Change, leave: Change) -> Tree:
        done = lax.while_loop(
            lambda carry: cond_fun(enter(carry)),
            lambda carry: leave(body_fun(enter(carry))),
            start,
        )
        return enter(done)

    return _carrying(init_val, run)


@wraps(lax.scan)
def scan(f: Any, init: Tree, xs: Tree = None, *args: Any, **options: Any) -> Any:
    _check_walk("lax.scan", xs)

    def run(start: Tree, enter: Change, leave: Change) -> Any:
        def body(carry: Tree, x: Tree) -> Any:
            pair = f(enter(carry), x)
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                return pair
            return leave(pair[0]), pair[1]

        carry, ys = lax.scan(body, start, xs, *args, **options)
        return enter(carry), ys

    return _carrying(init, run)


@wraps(lax.map)
def map_(f: Any, xs: Tree, **options: Any) -> Any:
    _check_walk("lax.map", xs)
    return lax.map(f, xs, **options)


@wraps(lax.cond)
def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **options: Any) -> Tree:
    return _agreeing(
        (true_fun, false_fun), lambda both: lax.cond(pred, *both, *operands, **options)
    )


@wraps(lax.switch)
def switch(index: Any, branches: Any, *operands: Any, **options: Any) -> Tree:
    return _agreeing(tuple(branches), lambda every: lax.switch(index, every, *operands, **options))


def _same(tree: Tree) -> Tree:
    return tree


def _carrying(init: Tree, run: Callable[[Tree, Change, Change], Any]) -> Any:
    """``run`` a loop from ``init``: on its values where patterns are kept, else on all of it."""
    if not holds_sparse(init):
        return run(init, _same, _same)

    def enter(values: Tree) -> Tree:
        return on_pattern(init, values)

    def leave(carry: Tree) -> Tree:
        leaves, treedef = jax.tree.flatten(init, is_leaf=is_sparse)
        given, structure = jax.tree.flatten(carry, is_leaf=is_sparse)
        if structure != treedef or not all(map(_on, leaves, given)):
            raise _ElsewhereError
        return values_of(carry)

    try:
        return run(values_of(init), enter, leave)
    except _ElsewhereError:
        pass
    try:
        return run(init, _same, _same)
    except TypeError as error:
        if not any(mark in str(error) for mark in MARKS):
            raise
    raise RefusedSource(
        "a matrix carried through a loop must keep its pattern and its type",
        hint="A + B has the cells of both: carry A.todense(), or compute on one pattern",
    )


def _on(start: Any, given: Any) -> bool:
    if is_sparse(start) != is_sparse(given):
        return False
    return not is_sparse(start) or same_pattern(start, given)


def _agreeing(branches: tuple[Any, ...], choose: Callable[[tuple[Any, ...]], Tree]) -> Tree:
    """The choice of a branch; where these store their matrices in two ways, each as it is seen."""

    def as_seen(branch: Any) -> Any:
        def stored(*operands: Any) -> Tree:
            return jax.tree.map(
                lambda leaf: leaf.canonical() if is_sparse(leaf) else leaf,
                branch(*operands),
                is_leaf=is_sparse,
            )

        return stored

    try:
        return choose(branches)
    except TypeError as error:
        if not any(mark in str(error) for mark in MARKS):
            raise
    try:
        return choose(tuple(map(as_seen, branches)))
    except TypeError as error:
        if not any(mark in str(error) for mark in MARKS):
            raise
    raise RefusedSource(
        "the branches return matrices of different shapes, types or numbers of entries",
        hint="return one pattern from each, or A.todense()",
    )


def _check_walk(name: str, xs: Tree) -> None:
    if any(not batch_of(matrix) for matrix in matrices(xs)):
        raise RefusedSource(
            f"{name} does not walk over the rows of a sparse matrix",
            hint="walk over M.todense(), over a batch of matrices, or over indices",
        )


OVERRIDES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "lax.fori_loop": fori_loop,
        "lax.while_loop": while_loop,
        "lax.scan": scan,
        "lax.map": map_,
        "lax.cond": cond,
        "lax.switch": switch,
    }
)
"""Registry name to the function used in its place."""
