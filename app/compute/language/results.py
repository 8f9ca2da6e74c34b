"""The outer edge of a call: arguments as the engine hands them in, results as it takes them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, sizes
from app.compute.language.describe import describe
from app.compute.language.records import Record
from app.core.errors import InvalidArgument, LimitExceeded, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

LARGEST, SMALLEST = 2**63 - 1, -(2**63)


def argument(run: Evaluator, value: Any) -> Any:
    """An argument as a value of the language: arrays, numbers, text and structures of these."""
    return guard.enter(run, value)


def result(run: Evaluator, value: Any, name: str) -> Any:
    """A pytree of arrays and numbers; records become dicts, anything else is refused."""
    if value is None:
        raise RefusedSource(
            f"{name} returns nothing", hint="end the function with return and a value"
        )
    count = [0]
    return _plain(run, value, count, 0)


def _plain(run: Evaluator, value: Any, count: list[int], depth: int) -> Any:
    sizes.checked_depth(run, depth)
    kind = type(value)
    if kind is Record:
        value = value.plain()
        kind = type(value)
    if kind in (list, tuple):
        sizes.checked_length(run, len(value))
        items = [_plain(run, item, count, depth + 1) for item in value]
        return items if kind is list else tuple(items)
    if kind in (dict, OrderedDict):
        sizes.checked_length(run, len(value))
        if not all(type(key) is str for key in value):
            raise InvalidArgument("the keys of a result must be text", hint="write {str(key): …}")
        return kind((key, _plain(run, item, count, depth + 1)) for key, item in value.items())
    count[0] += 1
    if count[0] > run.limits.result_leaves:
        raise LimitExceeded(
            f"the result has more than {run.limits.result_leaves} arrays",
            hint="put the numbers into one array with jnp.stack",
        )
    return _leaf(run, value)


def _leaf(run: Evaluator, value: Any) -> Any:
    kind = type(value)
    if kind is int and not SMALLEST <= value <= LARGEST:
        raise LimitExceeded("an integer of the result needs more than 64 bits", hint="use a float")
    if kind in guard.NUMBERS or value is None:
        return value
    if guard.is_array(value) or run.sparse.is_sparse(value):
        return value
    raise InvalidArgument(
        f"the result must be numbers and arrays, but holds {describe(value)}",
        hint="return a number in place of the text"
        if isinstance(value, str)
        else "call it and return the value",
    )
