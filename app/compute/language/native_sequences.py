"""Python's functions of sequences and containers: static ones, and arrays where clear."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, operators, targets
from app.compute.language.describe import describe
from app.compute.language.native_numbers import STATIC_REAL
from app.compute.language.records import Record
from app.compute.language.values import (
    Native,
    native,
)
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


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


SEQUENCES: Mapping[str, Native] = MappingProxyType(
    {
        "all": native("all", _all),
        "any": native("any", _any),
        "dict": native("dict", _dict, dict),
        "enumerate": native("enumerate", _enumerate),
        "len": native("len", _len),
        "list": native("list", _list, list),
        "map": native("map", _map),
        "max": native("max", _extreme("max", max, "maximum")),
        "min": native("min", _extreme("min", min, "minimum")),
        "range": native("range", _range, range),
        "reversed": native("reversed", _reversed),
        "slice": native("slice", _slice, slice),
        "sorted": native("sorted", _sorted),
        "sum": native("sum", _sum),
        "tuple": native("tuple", _tuple, tuple),
        "zip": native("zip", _zip),
    }
)
"""Each by its name in the outermost scope."""
