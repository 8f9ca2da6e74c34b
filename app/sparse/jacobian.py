"""Sparse Jacobians and Hessians: detect the pattern, colour it, take one product a colour.

A ``Plan`` (pattern, colours, where to read each entry) holds for every point, so it is made once
with the program; a stored program holds its own. Detection and colouring are asdex's; functions
map a flat vector to a flat vector (Jacobian) or to a number (Hessian).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import asdex
import jax
import jax.numpy as jnp
import numpy as np

from app.core.errors import InvalidArgument, LimitExceeded
from app.sparse.canonical import Canonical, from_entries
from app.sparse.matrix import SparseMatrix

MAX_DENSE = 2**22
"""Cells of a Jacobian whose pattern could not be found, computed whole."""
PRODUCTS = ("csr_mm", "csr_tmm", "csr_sddmm")
"""Our primitives, whose dependence on their operands is in the entries of a matrix."""
Function = Callable[[jax.Array], jax.Array]


@dataclass(frozen=True)
class Plan:
    """How to compute a sparse derivative of ``shape`` from ``count`` products.

    ``indices`` and ``indptr`` are its CSR pattern. ``colors`` names the product in which each
    column (``forward``, ``symmetric``) or row (``reverse``) takes part, -1 for none. Entry p of
    the result is entry ``places[p]`` of the stacked products, flattened.
    """

    mode: str
    shape: tuple[int, int]
    indices: np.ndarray
    indptr: np.ndarray
    colors: np.ndarray
    count: int
    places: np.ndarray


def plan_jacobian(
    f: Callable[..., jax.Array],
    x: Any,
    *others: Any,
    mode: str = "auto",
    pattern: Canonical | None = None,
) -> Plan:
    """The plan of the Jacobian of ``f`` at arrays like ``x`` (``(n,)``, only its type is read).

    ``others`` are like the further arguments of ``f``; the pattern holds whatever their values.
    ``mode``: auto, forward (one jvp a colour of columns) or reverse (one vjp a colour of rows).
    ``pattern``: the client's own, in place of detection; entries outside it are not computed.
    Without one, and where detection fails, the dense pattern within 2^22 cells.
    """
    x = _aval(x)
    m, n = _size(jax.eval_shape(f, x, *others)), _size(x)
    rows, cols = _pattern(asdex.jacobian_sparsity, f, (x, *others), (m, n), pattern)
    if len(rows) == m * n:
        backward = mode == "reverse" or (mode == "auto" and m < n)
        return _plan_whole("reverse" if backward else "forward", (m, n))
    chosen: Any = {"auto": None, "forward": "fwd", "reverse": "rev"}[mode]
    sparsity = asdex.SparsityPattern.from_coo(rows, cols, (m, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", asdex.DenseColoringWarning)
        options = {} if chosen is None else {"mode": chosen}
        colored = asdex.jacobian_coloring_from_sparsity(sparsity, **options)
    return _plan("reverse" if colored.mode == "rev" else "forward", colored, (m, n))


def plan_hessian(
    f: Callable[..., jax.Array], x: Any, *others: Any, pattern: Canonical | None = None
) -> Plan:
    """The plan of the Hessian of a scalar ``f``, by star colouring of its symmetric pattern."""
    x = _aval(x)
    n = _size(x)
    rows, cols = _pattern(asdex.hessian_sparsity, f, (x, *others), (n, n), pattern)
    if pattern is not None:
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        merged = from_entries(rows, cols, np.ones(len(rows)), (n, n))
        rows, cols = merged.rows(), merged.indices
    if len(rows) == n * n:
        return _plan_whole("symmetric", (n, n))
    sparsity = asdex.SparsityPattern.from_coo(rows, cols, (n, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", asdex.DenseColoringWarning)
        colored = asdex.hessian_coloring_from_sparsity(sparsity)
    return _plan("symmetric", colored, (n, n))


def jacobian(plan: Plan, f: Function, x: jax.Array) -> SparseMatrix:
    """The sparse Jacobian of ``f`` at ``x``: ``plan.count`` products, entries in CSR order."""
    return _matrix(plan, value_and_entries(plan, f, x)[1])


def hessian(plan: Plan, f: Function, x: jax.Array) -> SparseMatrix:
    """The sparse Hessian of a scalar ``f`` at ``x``: forward over reverse, one product a colour."""
    push = _pushforward(jax.grad(f), x)[1]
    return _matrix(plan, _products(push, plan, x.dtype, plan.shape[1]))


def value_and_entries(plan: Plan, f: Function, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """``f(x)`` and the entries of its Jacobian in CSR order."""
    if plan.mode == "forward":
        value, push = _pushforward(f, x)
        return value, _products(push, plan, x.dtype, plan.shape[1])
    value, pull = jax.vjp(f, x)
    pull = jax.lax.optimization_barrier(pull)
    return value, _products(lambda ct: pull(ct)[0], plan, value.dtype, plan.shape[0])


def _pushforward(f: Function, x: jax.Array) -> tuple[jax.Array, Function]:
    """``f(x)`` and its linear map. What the map keeps of ``f`` is computed once, behind a barrier:
    XLA would compute it again in every product."""
    value, push = jax.linearize(f, x)
    pure, kept = jax.closure_convert(push, x)
    kept = jax.lax.optimization_barrier(kept)
    return value, lambda tangent: pure(tangent, *kept)


def _products(product: Function, plan: Plan, dtype: Any, size: int) -> jax.Array:
    """Products with every seed, read at the entries."""
    if not len(plan.places):
        return jnp.zeros(0, dtype)
    colors = jnp.asarray(plan.colors)
    seeds = jnp.arange(plan.count)[:, None] == colors[None, :size]
    compressed = jax.lax.optimization_barrier(jax.vmap(product)(seeds.astype(dtype)))
    places = jnp.asarray(plan.places)
    return compressed.reshape(-1).at[places].get(mode="promise_in_bounds")


def _matrix(plan: Plan, values: jax.Array) -> SparseMatrix:
    return SparseMatrix(values, jnp.asarray(plan.indices), jnp.asarray(plan.indptr), plan.shape)


def _plan(mode: str, colored: Any, shape: tuple[int, int]) -> Plan:
    """Ours from asdex's: numbering the stacked products shows where each entry is read."""
    sparsity, count = colored.sparsity, int(colored.num_colors)
    rows, cols = np.asarray(sparsity.rows), np.asarray(sparsity.cols)
    across = shape[1] if mode == "reverse" else shape[0]
    if len(rows):
        numbers = jnp.arange(count * across, dtype=jnp.int32).reshape(count, across)
        places = np.asarray(asdex.decompress_data(numbers, colored))
    else:
        places = np.zeros(0, np.int32)
    order = from_entries(rows, cols, np.arange(len(rows)), shape)
    return Plan(
        mode,
        shape,
        order.indices,
        order.indptr,
        np.asarray(colored.colors, np.int32),
        count,
        places[order.values].astype(np.int32),
    )


def _plan_whole(mode: str, shape: tuple[int, int]) -> Plan:
    """Every cell, a product for each row or column: nothing to colour, which would be cubic."""
    m, n = shape
    rows, cols = np.indices(shape, np.int32).reshape(2, -1)
    count, places = (m, rows * n + cols) if mode == "reverse" else (n, cols * m + rows)
    indptr = np.arange(m + 1, dtype=np.int32) * n
    return Plan(mode, shape, cols, indptr, np.arange(count, dtype=np.int32), count, places)


def _pattern(
    detect: Callable[..., Any],
    f: Callable[..., jax.Array],
    inputs: tuple[Any, ...],
    shape: tuple[int, int],
    given: Any,
) -> tuple[np.ndarray, np.ndarray]:
    if given is not None:
        if given.shape != shape:
            raise InvalidArgument(
                f"the pattern is {given.shape[0]} x {given.shape[1]}, the derivative is "
                f"{shape[0]} x {shape[1]}",
                pointer="/sparse",
            )
        return given.rows(), given.indices[: given.nnz]
    try:
        found = detect(f, *(np.zeros(each.shape, each.dtype) for each in inputs))
    except (NotImplementedError, TypeError, ValueError, IndexError, KeyError) as error:
        return _whole(shape, error)
    merged = from_entries(
        np.asarray(found.rows), np.asarray(found.cols), np.ones(len(found.rows)), shape
    )
    return merged.rows(), merged.indices


def _whole(shape: tuple[int, int], error: Exception) -> tuple[np.ndarray, np.ndarray]:
    if math.prod(shape) > MAX_DENSE:
        reason, hint = str(error)[:200], 'give the pattern: "sparse": {"layout": "coo", …}'
        if any(name in reason for name in PRODUCTS):
            reason = "it follows the entries of a sparse matrix, known only when the program runs"
            hint = (
                'give the pattern: "sparse": {"layout": "coo", "row": […], "col": […]}; that of '
                "A @ x is the pattern of A, that of A @ x + f(x) has the diagonal too"
            )
        raise LimitExceeded(
            f"the sparsity of this function could not be found ({reason}), and "
            f"{shape[0]} x {shape[1]} is too large to compute whole",
            hint=hint,
        ) from None
    rows, cols = np.indices(shape, np.int32).reshape(2, -1)
    return rows, cols


def _aval(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _size(aval: Any) -> int:
    return math.prod(aval.shape)
