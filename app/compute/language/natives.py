"""Python's own functions, as far as the language has them: static values, and arrays where clear.

Each takes the evaluator, a list of positional and a dict of keyword arguments. ``NATIVES`` are
names of the outermost scope; ``FUNCTOOLS`` and ``DATACLASSES`` those of two imports.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, operators, targets
from app.compute.language.describe import describe, text_of
from app.compute.language.records import Record, RecordClass, replaced
from app.compute.language.values import FUNCTIONS, ArrayType, DType, Ignored, Native, Partial
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

STATIC_REAL = (int, float, bool)


def _range(run: Evaluator, *bounds: Any) -> range:
    for bound in bounds:
        if guard.is_array(bound):
            raise RefusedSource(
                "range needs integers that are known when the function is traced",
                hint="use lax.fori_loop(0, n, body, x), or send n as a static value",
            )
        if type(bound) not in (int, bool):
            raise InvalidArgument(f"range takes integers, not {describe(bound)}")
    try:
        return range(*bounds)
    except ValueError:
        raise InvalidArgument("the step of a range must not be zero") from None


def _len(run: Evaluator, value: Any) -> int:
    if guard.is_array(value):
        if value.ndim == 0:
            raise InvalidArgument("a single number has no length")
        return int(value.shape[0])
    if run.sparse.is_sparse(value):
        return run.call(run.registry.bare["shape"], [value], {})[0]
    if isinstance(value, Record):
        if value.type.is_tuple:
            return len(value.values)
    elif type(value) in (list, tuple, dict, str):
        return len(value)
    elif type(value) is range:
        return max(0, -((value.start - value.stop) // value.step))
    raise InvalidArgument(f"{describe(value)} has no length")


def _enumerate(run: Evaluator, items: Any, start: Any = 0) -> list[Any]:
    if type(start) is not int:
        raise InvalidArgument("enumerate starts at a static integer")
    return [(start + index, item) for index, item in enumerate(targets.items_of(run, items))]


def _zip(run: Evaluator, *many: Any, strict: Any = False) -> list[Any]:
    rows = [targets.items_of(run, items) for items in many]
    if strict and len({len(row) for row in rows}) > 1:
        raise InvalidArgument("zip(strict=True) got sequences of different lengths")
    return list(zip(*rows, strict=False))


def _map(run: Evaluator, function: Any, *many: Any) -> list[Any]:
    return [run.call(function, list(row), {}) for row in _zip(run, *many)]


def _reversed(run: Evaluator, items: Any) -> list[Any]:
    return targets.items_of(run, items)[::-1]


def _sorted(run: Evaluator, items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    found = targets.items_of(run, items)
    keys = found if key is None else [run.call(key, [item], {}) for item in found]
    for value in keys:
        if guard.is_array(value):
            raise RefusedSource(
                "sorted orders static values only", hint="use jnp.sort(x) or jnp.argsort(x)"
            )
    if not (
        all(type(value) in STATIC_REAL for value in keys)
        or all(type(value) is str for value in keys)
    ):
        raise InvalidArgument("sorted takes numbers or texts, not a mixture")
    order = sorted(range(len(found)), key=keys.__getitem__, reverse=operators.truth(run, reverse))
    return [found[index] for index in order]


def _sum(run: Evaluator, items: Any, start: Any = 0) -> Any:
    if guard.is_array(items) and items.ndim:
        total = run.call(run.registry.bare["sum"], [items], {"axis": 0})
        unchanged = type(start) is int and start == 0
        return total if unchanged else operators.binary(run, ast.Add, start, total)
    if run.sparse.is_sparse(items):
        return run.call(run.registry.bare["sum"], [items], {"axis": 0})
    total = start
    for item in targets.items_of(run, items):
        run.meter.step()
        total = operators.binary(run, ast.Add, total, item)
    return total


def _extreme(name: str, choose: Callable[..., Any], pairwise: str) -> Callable[..., Any]:
    def apply(run: Evaluator, *values: Any, key: Any = None, default: Any = None) -> Any:
        if len(values) == 1:
            if guard.is_array(values[0]) and values[0].ndim == 1 and key is None:
                return run.call(run.registry.bare[name], [values[0]], {})
            values = tuple(targets.items_of(run, values[0]))
            if not values:
                if default is not None:
                    return default
                raise InvalidArgument(f"{name}() of nothing")
        keys = list(values) if key is None else [run.call(key, [value], {}) for value in values]
        if any(guard.is_array(value) for value in keys):
            raise RefusedSource(
                f"Python's {name} compares values that are known only when the program runs",
                hint=f"use jnp.{pairwise}(a, b), or jnp.{name}(x) over an array",
            )
        numbers = all(type(value) in STATIC_REAL for value in keys)
        if not numbers and not all(type(value) is str for value in keys):
            raise InvalidArgument(f"{name}() takes numbers")
        return values[choose(range(len(keys)), key=keys.__getitem__)]

    return apply


def _abs(run: Evaluator, value: Any) -> Any:
    if type(value) in guard.NUMBERS:
        return run.enter(abs(value))
    return run.call(run.registry.bare["abs"], [value], {})


def _round(run: Evaluator, value: Any, digits: Any = None) -> Any:
    if type(value) in STATIC_REAL and (digits is None or type(digits) is int):
        return run.enter(round(value, digits))
    return run.call(run.registry.bare["round"], [value, digits or 0], {})


def _pow(run: Evaluator, base: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        raise RefusedSource("pow with a modulus is not allowed", hint="write pow(a, b) % m")
    return operators.binary(run, ast.Pow, base, exponent)


def _divmod(run: Evaluator, left: Any, right: Any) -> tuple[Any, Any]:
    return (
        operators.binary(run, ast.FloorDiv, left, right),
        operators.binary(run, ast.Mod, left, right),
    )


def _any(run: Evaluator, items: Any) -> bool:
    return any(_truth(run, item, "any") for item in targets.items_of(run, items))


def _all(run: Evaluator, items: Any) -> bool:
    return all(_truth(run, item, "all") for item in targets.items_of(run, items))


def _truth(run: Evaluator, item: Any, name: str) -> bool:
    if guard.is_traced(item):
        raise RefusedSource(
            f"Python's {name} decides on values that are known only when the program runs",
            hint=f"use jnp.{name}(x)",
        )
    return operators.truth(run, item)


def _float(run: Evaluator, value: Any = 0.0) -> Any:
    if guard.is_array(value):
        _check_single(value, "float")
        return run.call(run.registry.bare["asarray"], [value], {"dtype": NATIVES["float"]})
    if type(value) is str and value.strip().lower().lstrip("+-") not in ("inf", "nan"):
        raise InvalidArgument('float of a text takes "inf", "-inf" or "nan" only')
    if type(value) in (*STATIC_REAL, str):
        return float(value)
    raise InvalidArgument(f"float takes a number, not {describe(value)}")


def _check_single(value: Any, name: str) -> None:
    if value.size != 1:
        raise InvalidArgument(
            f"{name} takes one number, not {describe(value)}", hint=f"write x.astype({name})"
        )


def _int(run: Evaluator, value: Any = 0) -> Any:
    if guard.is_traced(value):
        raise RefusedSource(
            "int needs a value that is known when the function is traced",
            hint="write x.astype(int) for a traced integer, or send the value as static",
        )
    if type(value) in STATIC_REAL or guard.is_array(value):
        try:
            return run.enter(int(value))
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument("int takes one finite number") from None
    raise InvalidArgument(f"int takes a number, not {describe(value)}")


def _bool(run: Evaluator, value: Any = False) -> bool:
    return operators.truth(run, value)


def _complex(run: Evaluator, real: Any = 0.0, imag: Any = 0.0) -> Any:
    if type(real) in guard.NUMBERS and type(imag) in guard.NUMBERS:
        return complex(real, imag)
    raise RefusedSource("complex takes static numbers", hint="write a + 1j*b, or lax.complex(a, b)")


def _str(run: Evaluator, value: Any = "") -> str:
    if guard.is_array(value):
        raise RefusedSource("an array has no text", hint="return the array")
    return guard.checked_text(run, text_of(value))


def _tuple(run: Evaluator, items: Any = ()) -> tuple[Any, ...]:
    return tuple(targets.items_of(run, items))


def _list(run: Evaluator, items: Any = ()) -> list[Any]:
    return targets.items_of(run, items)


def _dict(run: Evaluator, items: Any = (), **named: Any) -> dict[Any, Any]:
    if type(items) is dict:
        return {**items, **named}
    found: dict[Any, Any] = {}
    for pair in targets.items_of(run, items):
        if type(pair) not in (list, tuple) or len(pair) != 2:
            raise InvalidArgument("dict takes pairs of key and value")
        found[guard.enter_key(run, pair[0])] = pair[1]
    return {**found, **named}


def _slice(run: Evaluator, *bounds: Any) -> slice:
    if not all(bound is None or type(bound) is int or guard.is_array(bound) for bound in bounds):
        raise InvalidArgument("slice takes integers or None")
    return slice(*bounds)


def _print(run: Evaluator, *values: Any, **options: Any) -> None:
    """Nothing: a function computes, and what it prints has nowhere to go."""


def _callable(run: Evaluator, value: Any) -> bool:
    return type(value) in (*FUNCTIONS, RecordClass)


def _isinstance(run: Evaluator, value: Any, types: Any) -> bool:
    if type(types) is tuple:
        return any(_isinstance(run, value, one) for one in types)
    kind = type(value)
    if type(types) is ArrayType:
        return guard.is_array(value)
    if type(types) is RecordClass:
        return kind is Record and value.type is types
    if type(types) is DType:
        return guard.is_array(value) and value.ndim == 0 and types.name == str(value.dtype)
    if type(types) is Native and types.python_type is not None:
        if types.python_type is tuple and kind is Record:
            return value.type.is_tuple
        return kind is types.python_type or (types.python_type is int and kind is bool)
    raise RefusedSource(
        f"isinstance does not know {describe(types)}",
        hint="it knows jax.Array, int, float, bool, complex, str, tuple, list, dict and records",
    )


def _error(run: Evaluator, *parts: Any) -> Any:
    """An error to be raised: its message, as far as it is static."""
    return " ".join(text_of(part) for part in parts)[:300]


def _partial(run: Evaluator, function: Any, *args: Any, **kwargs: Any) -> Partial:
    if type(function) not in (*FUNCTIONS, RecordClass):
        raise InvalidArgument("functools.partial takes a function first")
    return Partial(function, args, kwargs)


def _reduce(run: Evaluator, function: Any, items: Any, *initial: Any) -> Any:
    found = [*initial[:1], *targets.items_of(run, items)]
    if not found:
        raise InvalidArgument("functools.reduce of nothing needs a first value")
    total = found[0]
    for item in found[1:]:
        total = run.call(function, [total, item], {})
    return total


def _dataclass(run: Evaluator, *classes: Any, **options: Any) -> Any:
    """Used as a decorator only; the class statement does the work."""
    return classes[0] if classes else DATACLASSES["dataclass"]


def _replace(run: Evaluator, record: Any, **changes: Any) -> Record:
    if type(record) is not Record:
        raise InvalidArgument("dataclasses.replace takes a record first")
    return replaced(record, changes)


def _field(run: Evaluator, *, default: Any = None, **options: Any) -> Any:
    return default


def _native(name: str, function: Callable[..., Any], python_type: type | None = None) -> Native:
    def apply(run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return function(run, *args, **kwargs)

    return Native(name, apply, python_type)


NATIVES: Mapping[str, Native] = MappingProxyType(
    {
        "abs": _native("abs", _abs),
        "all": _native("all", _all),
        "any": _native("any", _any),
        "bool": _native("bool", _bool, bool),
        "callable": _native("callable", _callable),
        "complex": _native("complex", _complex, complex),
        "dict": _native("dict", _dict, dict),
        "divmod": _native("divmod", _divmod),
        "enumerate": _native("enumerate", _enumerate),
        "float": _native("float", _float, float),
        "int": _native("int", _int, int),
        "isinstance": _native("isinstance", _isinstance),
        "len": _native("len", _len),
        "list": _native("list", _list, list),
        "map": _native("map", _map),
        "max": _native("max", _extreme("max", max, "maximum")),
        "min": _native("min", _extreme("min", min, "minimum")),
        "partial": _native("functools.partial", _partial),
        "pow": _native("pow", _pow),
        "print": _native("print", _print),
        "range": _native("range", _range, range),
        "reversed": _native("reversed", _reversed),
        "round": _native("round", _round),
        "slice": _native("slice", _slice, slice),
        "sorted": _native("sorted", _sorted),
        "str": _native("str", _str, str),
        "sum": _native("sum", _sum),
        "tuple": _native("tuple", _tuple, tuple),
        "zip": _native("zip", _zip),
        **{
            name: _native(name, _error)
            for name in (
                "ValueError TypeError NotImplementedError AssertionError IndexError KeyError "
                "RuntimeError ArithmeticError"
            ).split()
        },
    }
)
FUNCTOOLS: Mapping[str, Any] = MappingProxyType(
    {"partial": NATIVES["partial"], "reduce": _native("reduce", _reduce)}
)
DATACLASSES: Mapping[str, Any] = MappingProxyType(
    {
        "dataclass": _native("dataclasses.dataclass", _dataclass),
        "replace": _native("dataclasses.replace", _replace),
        "field": _native("dataclasses.field", _field),
        "KW_ONLY": Ignored("KW_ONLY"),
    }
)
