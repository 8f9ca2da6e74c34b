"""Python's own functions, as far as the language has them: static values, and arrays where clear.

Each takes the evaluator, a list of positional and a dict of keyword arguments. ``NATIVES`` are
names of the outermost scope; ``FUNCTOOLS`` and ``DATACLASSES`` those of two imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, sizes, targets
from app.compute.language.describe import describe, text_of
from app.compute.language.native_numbers import NUMBERS
from app.compute.language.native_sequences import SEQUENCES
from app.compute.language.records import Record, RecordClass, replaced
from app.compute.language.values import (
    FUNCTIONS,
    ArrayType,
    DType,
    Ignored,
    Native,
    Partial,
    native,
)
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


def _str(run: Evaluator, value: Any = "") -> str:
    if guard.is_array(value):
        raise RefusedSource("an array has no text", hint="return the array")
    return sizes.checked_text(run, text_of(value))


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


NATIVES: Mapping[str, Native] = MappingProxyType(
    {
        **NUMBERS,
        **SEQUENCES,
        "callable": native("callable", _callable),
        "isinstance": native("isinstance", _isinstance),
        "partial": native("functools.partial", _partial),
        "print": native("print", _print),
        "str": native("str", _str, str),
        **{
            name: native(name, _error)
            for name in (
                "ValueError TypeError NotImplementedError AssertionError IndexError KeyError "
                "RuntimeError ArithmeticError"
            ).split()
        },
    }
)
FUNCTOOLS: Mapping[str, Any] = MappingProxyType(
    {"partial": NATIVES["partial"], "reduce": native("reduce", _reduce)}
)
DATACLASSES: Mapping[str, Any] = MappingProxyType(
    {
        "dataclass": native("dataclasses.dataclass", _dataclass),
        "replace": native("dataclasses.replace", _replace),
        "field": native("dataclasses.field", _field),
        "KW_ONLY": Ignored("KW_ONLY"),
    }
)
