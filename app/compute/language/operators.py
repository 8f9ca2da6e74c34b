"""Operators: Python's on static values, with bounds; JAX's on arrays; the sparse layer's on sparse.

Equality of structures is walked here and charged, never left to Python's ``==``, which would
compare arrays and follow shared lists for ever.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.compute.derivatives.rules import OVERRIDES
from app.compute.language import guard, sizes
from app.compute.language.describe import describe
from app.compute.language.records import Record
from app.compute.language.values import ArrayType, DType, Ignored, Native, Token
from app.core.errors import InvalidArgument, LimitExceeded, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

BINARY: dict[type, tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", "add", operator.add),
    ast.Sub: ("-", "sub", operator.sub),
    ast.Mult: ("*", "mul", operator.mul),
    ast.Div: ("/", "truediv", operator.truediv),
    ast.FloorDiv: ("//", "floordiv", OVERRIDES["operator.floordiv"]),
    ast.Mod: ("%", "mod", OVERRIDES["operator.mod"]),
    ast.Pow: ("**", "pow", OVERRIDES["operator.pow"]),
    ast.MatMult: ("@", "matmul", operator.matmul),
    ast.BitAnd: ("&", "and_", operator.and_),
    ast.BitOr: ("|", "or_", operator.or_),
    ast.BitXor: ("^", "xor", operator.xor),
    ast.LShift: ("<<", "lshift", operator.lshift),
    ast.RShift: (">>", "rshift", operator.rshift),
}
UNARY: dict[type, tuple[str, str, Callable[[Any], Any]]] = {
    ast.USub: ("-", "neg", operator.neg),
    ast.UAdd: ("+", "pos", operator.pos),
    ast.Invert: ("~", "invert", operator.invert),
}
COMPARISONS: dict[type, tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", "eq", operator.eq),
    ast.NotEq: ("!=", "ne", operator.ne),
    ast.Lt: ("<", "lt", operator.lt),
    ast.LtE: ("<=", "le", operator.le),
    ast.Gt: (">", "gt", operator.gt),
    ast.GtE: (">=", "ge", operator.ge),
}
SEQUENCES = (list, tuple, str)
ORDERED = (int, float, bool, str)
TYPES = (Native, ArrayType, Ignored)


def is_arithmetic(run: Evaluator, value: Any) -> bool:
    """Whether a value takes part in array arithmetic."""
    return type(value) in guard.NUMBERS or guard.is_array(value) or run.sparse.is_sparse(value)


def binary(run: Evaluator, kind: type, left: Any, right: Any) -> Any:
    """``left`` op ``right`` for the operator node type ``kind``."""
    symbol, name, function = BINARY[kind]
    if type(left) in guard.NUMBERS and type(right) in guard.NUMBERS:
        return _static(run, kind, left, right)
    if is_arithmetic(run, left) and is_arithmetic(run, right):
        return run.host(f"operator.{name}", function, [left, right])
    if kind is ast.Add and type(left) in SEQUENCES and type(left) is type(right):
        _check_length(run, left, len(left) + len(right))
        return left + right
    if kind is ast.Mult:
        for sequence, count in ((left, right), (right, left)):
            if type(sequence) in SEQUENCES and type(count) in (int, bool):
                _check_length(run, sequence, len(sequence) * max(count, 0))
                return sequence * count
    if kind is ast.BitOr and type(left) is dict and type(right) is dict:
        sizes.checked_length(run, len(left) + len(right))
        return left | right
    if kind is ast.BitOr and (type(left) in TYPES or type(right) in TYPES):
        return (left, right)
    raise _unfit(symbol, left, right)


def _unfit(symbol: str, left: Any, right: Any) -> InvalidArgument:
    hint = None
    if type(left) in (list, tuple) or type(right) in (list, tuple):
        hint = "wrap the list: jnp.array([…])"
    elif left is None or right is None:
        hint = "a def without return gives None"
    return InvalidArgument(f"{describe(left)} {symbol} {describe(right)} has no meaning", hint=hint)


def _static(run: Evaluator, kind: type, left: Any, right: Any) -> Any:
    integers = isinstance(left, int) and isinstance(right, int)
    bits = run.limits.integer_bits
    growing = kind is ast.Pow and integers and right > 0 and abs(left) > 1
    if growing and (int(left).bit_length() - 1) * right > bits:
        raise LimitExceeded(
            f"an integer needs more than {bits} bits", hint="write a float, as in 10.0**100"
        )
    if kind is ast.LShift and right > bits:
        raise LimitExceeded(
            f"a shift by more than {bits} bits", hint="write a power of two, as in 2.0**100"
        )
    try:
        return run.enter(BINARY[kind][2](left, right))
    except ZeroDivisionError:
        raise InvalidArgument(
            "a static number is divided by zero",
            hint="make one an array to get an infinity, as in jnp.array(1.0) / 0, or use jnp.inf",
        ) from None
    except OverflowError:
        raise InvalidArgument(
            "a static number is too large for a float", hint="scale the numbers, or use jnp.inf"
        ) from None
    except (TypeError, ValueError):
        raise _unfit(BINARY[kind][0], left, right) from None


def _check_length(run: Evaluator, sequence: Any, count: int) -> None:
    if type(sequence) is str:
        if count > run.limits.text:
            raise LimitExceeded(f"a text is longer than {run.limits.text} characters")
        return
    sizes.checked_length(run, count)


def unary(run: Evaluator, kind: type, value: Any) -> Any:
    """``-``, ``+`` or ``~`` of a value."""
    symbol, name, function = UNARY[kind]
    if type(value) in guard.NUMBERS:
        try:
            return run.enter(function(value))
        except TypeError:
            raise InvalidArgument(f"{symbol} of {describe(value)} has no meaning") from None
    if is_arithmetic(run, value):
        return run.host(f"operator.{name}", function, [value])
    raise InvalidArgument(f"{symbol} of {describe(value)} has no meaning")


def compare(run: Evaluator, kind: type, left: Any, right: Any) -> Any:
    """One comparison of a chain: an array where an operand is one, else True or False."""
    if kind in (ast.Is, ast.IsNot):
        return _same(left, right) == (kind is ast.Is)
    if kind in (ast.In, ast.NotIn):
        return contains(run, right, left) == (kind is ast.In)
    symbol, name, function = COMPARISONS[kind]
    if _any_array(run, left, right):
        if kind in (ast.Eq, ast.NotEq) and (left is None or right is None):
            return kind is ast.NotEq
        if is_arithmetic(run, left) and is_arithmetic(run, right):
            return run.host(f"operator.{name}", function, [left, right])
        raise _unfit(symbol, left, right)
    if kind is ast.Eq:
        return equal(run, left, right)
    if kind is ast.NotEq:
        return not equal(run, left, right)
    return _ordered(run, symbol, function, left, right)


def _any_array(run: Evaluator, left: Any, right: Any) -> bool:
    return any(guard.is_array(v) or run.sparse.is_sparse(v) for v in (left, right))


def _ordered(
    run: Evaluator, symbol: str, function: Callable[[Any, Any], Any], left: Any, right: Any
) -> bool:
    numbers = all(type(value) in (int, float, bool) for value in (left, right))
    texts = type(left) is str and type(right) is str
    if numbers or texts:
        return function(left, right)
    if type(left) is type(right) and type(left) in (list, tuple):
        for one, other in zip(left, right, strict=False):
            if not equal(run, one, other):
                return _ordered(run, symbol, function, one, other)
        return function(len(left), len(right))
    raise _unfit(symbol, left, right)


def _same(left: Any, right: Any) -> bool:
    singletons = (None, True, False, ...)
    if any(left is one or right is one for one in singletons):
        return left is right
    if type(left) in (*guard.NUMBERS, str, tuple):
        raise RefusedSource("is compares with None, True or False only", hint="write ==")
    return left is right


def equal(run: Evaluator, left: Any, right: Any, depth: int = 0) -> bool:
    """Equality of static values; lists and dicts item by item, each item charged."""
    run.meter.step()
    sizes.checked_depth(run, depth)
    if guard.is_array(left) or guard.is_array(right):
        raise RefusedSource(
            "comparing arrays inside lists or dicts is not allowed",
            hint="compare the arrays themselves, or use jnp.array_equal",
        )
    kind = type(left)
    plain = (*guard.NUMBERS, str)
    if kind in plain and type(right) in plain:
        return left == right
    if kind is not type(right):
        return False
    if kind in (list, tuple):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(equal(run, a, b, depth + 1) for a, b in pairs)
    if kind is dict:
        if left.keys() != right.keys():
            return False
        return all(equal(run, value, right[key], depth + 1) for key, value in left.items())
    if kind is Record:
        return left.type is right.type and equal(run, left.values, right.values, depth + 1)
    if kind is range or kind is slice:
        return left == right
    if kind in (DType, Token):
        return _equal_handles(left, right)
    return left is right


def _equal_handles(left: Any, right: Any) -> bool:
    try:
        if type(left) is DType:
            return left.value == right.value or _numpy_name(left) == _numpy_name(right)
        return left.kind == right.kind and bool(left.value == right.value)
    except TypeError:
        return False


def _numpy_name(dtype: DType) -> str:
    return str(getattr(getattr(dtype.value, "dtype", dtype.value), "name", dtype.name))


def contains(run: Evaluator, container: Any, item: Any) -> bool:
    """``item in container`` for static items and containers."""
    if guard.is_array(container):
        raise RefusedSource("in on an array is not allowed", hint="write jnp.any(x == value)")
    if type(container) is dict:
        return guard.enter_key(run, item) in container
    if type(container) is str and type(item) is str:
        return item in container
    if type(container) is range:
        return type(item) in (int, bool) and item in container
    items = container.values if isinstance(container, Record) else container
    if type(items) in (list, tuple):
        return any(equal(run, item, other) for other in items)
    raise InvalidArgument(f"{describe(item)} in {describe(container)} has no meaning")


def truth(run: Evaluator, value: Any) -> bool:
    """Whether a static value counts as true; refuse for values known only at run time."""
    if guard.is_traced(value) or run.sparse.is_sparse(value):
        raise RefusedSource(
            "Python decides here while the function is traced, but the value is known only when "
            "the program runs",
            hint="use jnp.where(condition, a, b), or lax.cond(condition, f, g, x) where only one "
            "side may be computed; for and, or, not write &, |, ~ with brackets",
        )
    if guard.is_array(value):
        if value.size != 1:
            raise InvalidArgument(
                "an array of several values is neither true nor false",
                hint="use jnp.all(x) or jnp.any(x)",
            )
        return bool(value)
    if type(value) in (*guard.NUMBERS, str, list, tuple, dict, range):
        return bool(value)
    return value is not None
