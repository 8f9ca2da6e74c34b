"""Operators and functions of two operands: sparse with sparse, dense or a number.

The result is sparse where zeros stay zeros, and dense only where an operand of the full shape
was dense already.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import SparseMatrix, is_static, union
from app.sparse.sparsify.refusals import would_fill

Function = Callable[[Any, Any], jax.Array]


def check_shapes(one: SparseMatrix, other: Any) -> None:
    """Two operands fit: same shape, or the dense one broadcasts to the sparse one's."""
    shape = other.shape if isinstance(other, SparseMatrix) else jnp.shape(other)
    fits = shape == one.shape if isinstance(other, SparseMatrix) else _broadcasts(shape, one.shape)
    if not fits:
        raise InvalidArgument(f"shapes {one.shape} and {tuple(shape)} do not fit")


def _broadcasts(shape: tuple[int, ...], onto: tuple[int, int]) -> bool:
    pairs = zip(reversed(shape), reversed(onto), strict=False)
    return len(shape) <= 2 and all(size in (1, want) for size, want in pairs)


def both_sparse(function: Function, A: SparseMatrix, B: SparseMatrix) -> SparseMatrix:
    """``function`` on the cells that either stores; it must map (0, 0) to 0."""
    check_shapes(A, B)
    pattern, left, right = union(A, B)
    return pattern.with_values(function(pattern.safe(left), pattern.safe(right)))


def at_zero(function: Function, A: SparseMatrix, other: Any, *, reverse: bool) -> bool | None:
    """Whether the function of 0 and a static operand is 0 everywhere; None when not known."""
    if not is_static(other):
        return None
    zero = np.zeros((), A.dtype)
    with jax.ensure_compile_time_eval():
        result = function(other, zero) if reverse else function(zero, other)
        return not bool(np.any(np.asarray(result) != 0))


def general(
    name: str, function: Function, a: Any, b: Any, *, keeps: bool = False, fill: float = 0
) -> Any:
    """Any elementwise function of two operands.

    Whether 0 stays 0 is found out from a static second operand. A traced one is refused, unless
    ``keeps``: then 0 stays 0 whatever an ordinary operand is (``A * d``, d finite), and it is taken
    to be one. ``fill`` is a second operand for padding.
    """
    if isinstance(a, SparseMatrix) and isinstance(b, SparseMatrix):
        if at_zero(function, a, np.zeros((), b.dtype), reverse=False):
            return both_sparse(function, a, b)
        raise would_fill(name, a)
    reverse = isinstance(b, SparseMatrix)
    A: SparseMatrix = b if reverse else a
    other: Any = a if reverse else b
    check_shapes(A, other)
    if jnp.shape(other) == A.shape and not keeps:
        dense = A.todense()
        return function(other, dense) if reverse else function(dense, other)
    stays = at_zero(function, A, other, reverse=reverse)
    if stays or (stays is None and keeps and not reverse):
        if jnp.ndim(other) == 0:
            return A.map(lambda v: function(other, v) if reverse else function(v, other))
        at = A.at_entries(other, fill)
        return A.map(lambda v: function(at, v) if reverse else function(v, at))
    if stays is None:
        raise RefusedSource(
            f"{name} of a sparse matrix and a value known only at run time may fill its zeros",
            hint="write the number into the source, or A.todense() for the dense array",
        )
    by = f" by {other}" if keeps and jnp.ndim(other) == 0 else ""
    raise would_fill(name + by, A)


def multiply(a: Any, b: Any) -> SparseMatrix:
    """``A * B``, ``A * d``, ``d * A``: rows or columns scaled where d broadcasts."""
    if not isinstance(a, SparseMatrix):
        a, b = b, a
    return general(
        "multiplication", jnp.multiply, a, b, keeps=not isinstance(b, SparseMatrix), fill=1
    )


def add(a: Any, b: Any) -> Any:
    """``A + B``; with a dense array of the full shape the sum is dense."""
    return _sum("+", jnp.add, a, b)


def subtract(a: Any, b: Any) -> Any:
    """``A - B``; with a dense array of the full shape the difference is dense."""
    return _sum("-", jnp.subtract, a, b)


def _sum(symbol: str, function: Function, a: Any, b: Any) -> Any:
    if isinstance(a, SparseMatrix) and isinstance(b, SparseMatrix):
        return both_sparse(function, a, b)
    A, other = (a, b) if isinstance(a, SparseMatrix) else (b, a)
    check_shapes(A, other)
    if is_static(other) and jnp.ndim(other) == 0 and other == 0:
        return A if A is a or function is jnp.add else A.map(jnp.negative)
    if jnp.shape(other) != A.shape:
        raise would_fill(f"A {symbol} a number or vector", A)
    dtype = jnp.result_type(A.dtype, other)
    sign = -1 if function is jnp.subtract and A is b else 1
    base = jnp.asarray(other, dtype) * (-1 if function is jnp.subtract and A is a else 1)
    return base.at[A.coordinates()].add(sign * A.values.astype(dtype), mode="drop")


def divide(name: str, function: Function, a: Any, b: Any) -> SparseMatrix:
    """``A / d``, where d is a number, a vector, or an array of the full shape."""
    if isinstance(b, SparseMatrix):
        raise would_fill(f"{name} by a sparse matrix", b)
    return general(name, function, a, b, keeps=True, fill=1)


def power(a: Any, b: Any) -> SparseMatrix:
    """``A ** p`` for a positive static p."""
    if isinstance(b, SparseMatrix):
        raise would_fill("a power with a sparse exponent", b)
    if not is_static(b) or jnp.ndim(b) != 0:
        raise RefusedSource(
            "the power of a sparse matrix needs an exponent known while tracing",
            hint="write a number above 0, or A.todense() for the dense array",
        )
    if not np.real(b) > 0:
        raise would_fill(f"the power {b}", a)
    return a.map(lambda values: values**b)


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    return partial(general, name, getattr(jnp, name))


OPERATORS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
NAMES = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
OTHERS = "maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and bitwise_or "
TABLE: dict[str, Callable[..., Any]] = {
    **{name: _comparison(name) for name in (*NAMES, *OTHERS.split(), "hypot", "copysign")},
    **{short: _comparison(name) for short, name in OPERATORS.items()},
    "eq": _comparison("equal"),
    "ne": _comparison("not_equal"),
    "and_": _comparison("bitwise_and"),
    "or_": _comparison("bitwise_or"),
    "xor": _comparison("bitwise_xor"),
    "mul": multiply,
    "multiply": multiply,
    "add": add,
    "sub": subtract,
    "subtract": subtract,
    "pow": power,
    "power": power,
    "float_power": power,
    **{n: partial(divide, "division", jnp.true_divide) for n in ("truediv", "divide", "div")},
    "true_divide": partial(divide, "division", jnp.true_divide),
    **{n: partial(divide, "floor division", jnp.floor_divide) for n in ("floordiv",)},
    "floor_divide": partial(divide, "floor division", jnp.floor_divide),
    **{n: partial(divide, "remainder", jnp.remainder) for n in ("mod", "remainder")},
    "arctan2": _comparison("arctan2"),
}
