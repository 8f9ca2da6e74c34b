"""Calls: one place that knows every kind of function of the language, by exact type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from app.compute.language import arguments, closures, guard, host, records, solve, transforms
from app.compute.language.describe import describe
from app.compute.language.records import Record, RecordClass
from app.compute.language.values import (
    ArrayType,
    Builtin,
    Closure,
    DType,
    Ignored,
    Method,
    Module,
    Native,
    Partial,
    Transformed,
)
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

GIVEN_HOST_FUNCTIONS = frozenset(("lax.custom_root", "lax.custom_linear_solve"))
"""Functions whose callbacks are given functions that JAX made."""


def call(run: Evaluator, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call ``function`` with values of the language; raise where it is not a function."""
    kind = CALLS.get(type(function))
    if kind is None:
        raise not_callable(function)
    return kind(run, function, args, kwargs)


def not_callable(function: Any) -> InvalidArgument:
    """The refusal to call something that is not a function."""
    if type(function) is Module:
        return InvalidArgument(f"{function.name} is a module, not a function")
    if type(function) in guard.NUMBERS or guard.is_array(function):
        return InvalidArgument(
            "a number or array is not a function", hint="write * for a product, as in 2*(x + 1)"
        )
    return InvalidArgument(f"{describe(function)} is not a function")


def _builtin(run: Evaluator, function: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = function.name
    if run.sparse.takes(name, (*args, *kwargs.values())):
        return host.call(run, name, function.function, args, kwargs)
    args, kwargs = arguments.prepared(run, function, args, kwargs)
    if name in transforms.MAKERS:
        return transforms.make(run, function, args, kwargs)
    with run.meter.differentiating(transforms.ORDERS.get(name) or solve.orders().get(name, 0)):
        if name in transforms.UNPACKED:
            return transforms.unpacked(run, function, args, kwargs)
        functions = name in GIVEN_HOST_FUNCTIONS
        return host.call(run, name, function.function, args, kwargs, functions=functions)


def _native(run: Evaluator, function: Native, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return function.apply(run, args, kwargs)
    except TypeError as error:
        # A wrong count of arguments for a function of ours.
        raise InvalidArgument(f"{function.name}() cannot take these arguments") from error


def _transformed(
    run: Evaluator, function: Transformed, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    with run.meter.differentiating(function.order):
        return guard.enter(run, host.call_raw(run, function.name, function.function, args, kwargs))


def _partial(run: Evaluator, function: Partial, args: list[Any], kwargs: dict[str, Any]) -> Any:
    run.meter.step()
    with run.meter.calling():
        return call(run, function.function, [*function.args, *args], {**function.kwargs, **kwargs})


def _method(run: Evaluator, function: Method, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return function.apply(run, args, kwargs)


def _dtype(run: Evaluator, function: DType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if function.name == "dtype":
        return _named_dtype(run, *args, **kwargs)
    return run.host(f"jnp.{function.name}", jax.numpy.asarray, args, dtype=function)


def _named_dtype(run: Evaluator, value: Any = None) -> Any:
    arguments.check_dtype(run, value)
    return run.host("jnp.dtype", jax.numpy.dtype, [value])


def _record_class(
    run: Evaluator, function: RecordClass, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    return records.construct(function, args, kwargs)


def _record(run: Evaluator, record: Record, args: list[Any], kwargs: dict[str, Any]) -> Any:
    method = record.type.methods.get("__call__")
    if method is None:
        raise not_callable(record)
    return call(run, method, [record, *args], kwargs)


def _array_type(
    run: Evaluator, function: ArrayType, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    raise RefusedSource("making an array from its type is not allowed", hint="write jnp.array(…)")


def _ignored(run: Evaluator, function: Ignored, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return function


CALLS: dict[type, Any] = {
    Closure: closures.call,
    Builtin: _builtin,
    Native: _native,
    Transformed: _transformed,
    Partial: _partial,
    Method: _method,
    DType: _dtype,
    RecordClass: _record_class,
    Record: _record,
    ArrayType: _array_type,
    Ignored: _ignored,
}
