"""Attributes: tables by exact type. No attribute of a host object is ever looked up by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.compute.language import arrays, at_view, containers, guard, transforms
from app.compute.language.describe import describe
from app.compute.language.lookup import member
from app.compute.language.messages import near
from app.compute.language.records import Record, replaced
from app.compute.language.values import (
    AtPlace,
    Closure,
    DType,
    Ignored,
    Method,
    Module,
    Native,
    Token,
    Transformed,
)
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.compute.language.evaluator import Evaluator


LISTED = 16
"""Attributes up to which a refusal names them all."""


def attribute(run: Evaluator, value: Any, name: str) -> Any:
    """The value of ``value.name``; raise where the language has no such attribute."""
    kind = type(value)
    if kind is Module:
        return member(value, name)
    if guard.is_array(value):
        return arrays.attribute(run, value, name)
    if run.sparse.is_sparse(value):
        return _sparse(run, value, name)
    reader = READERS.get(kind)
    if reader is not None:
        return reader(run, value, name)
    raise refused(value, name, ())


def refused(value: Any, name: str, known: Iterable[str]) -> RefusedSource:
    """The refusal of an attribute that a value does not have."""
    names = sorted(known)
    hint = near(name, names)
    if hint is None and 0 < len(names) <= LISTED:
        hint = "it has " + ", ".join(names)
    return RefusedSource(
        f"the attribute {name[:60]} of {describe(value)} is not allowed", hint=hint
    )


def _sparse(run: Evaluator, value: Any, name: str) -> Any:
    if name in run.registry.array_methods or name in ("toarray", "todense"):

        def apply(run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
            run.meter.operation()
            return run.enter(run.sparse.call(f"method.{name}", [value, *args], kwargs))

        return Method(name, apply)
    if name in (*run.registry.array_attributes, "nse", "nnz"):
        return run.enter(run.sparse.call(f"attribute.{name}", [value], {}))
    raise refused(value, name, run.registry.array_methods)


def _container(run: Evaluator, value: Any, name: str) -> Any:
    known = run.registry.container_methods.get(type(value).__name__, ())
    if name not in known:
        raise refused(value, name, known)
    return containers.method(value, name)


def _record(run: Evaluator, record: Record, name: str) -> Any:
    type_ = record.type
    if name in type_.fields:
        return record.get(name)
    if name in type_.properties:
        return run.call(type_.methods[name], [record], {})
    if name in type_.methods:
        return Method(
            name, lambda run, args, kw: run.call(type_.methods[name], [record, *args], kw)
        )
    if type_.is_tuple and name in ("count", "index"):
        return containers.method(record.values, name)
    if name == "_replace":
        return Method(name, lambda run, args, kw: _replace(record, args, kw))
    if name == "_asdict":
        fields = dict(zip(type_.fields, record.values, strict=True))
        return Method(name, lambda run, args, kw: dict(fields))
    if name == "_fields":
        return type_.fields
    raise refused(record, name, (*type_.fields, *type_.methods))


def _replace(record: Record, args: list[Any], changes: dict[str, Any]) -> Record:
    if args:
        raise InvalidArgument("_replace takes named fields only", hint="p._replace(w=…)")
    return replaced(record, changes)


def _number(run: Evaluator, value: Any, name: str) -> Any:
    if name == "real":
        return value.real
    if name == "imag":
        return value.imag
    if name in ("conjugate", "conj"):
        return Method(name, lambda run, args, kwargs: value.conjugate())
    if name in ("T", "mT"):
        return value
    constants = {"shape": (), "ndim": 0, "size": 1}
    if name in constants:
        return constants[name]
    raise refused(value, name, ("real", "imag", "conjugate", *constants))


def _place(run: Evaluator, value: AtPlace, name: str) -> Any:
    if name not in run.registry.at_methods:
        raise refused(value, name, run.registry.at_methods)
    return at_view.update(value, name)


def _dtype(run: Evaluator, value: DType, name: str) -> Any:
    if name == "name":
        return value.name
    if name in ("itemsize", "kind"):
        return arrays.dtype_fact(value, name)
    if name == "type":
        return value
    raise refused(value, name, ("name", "itemsize", "kind"))


def _transformed(run: Evaluator, value: Transformed, name: str) -> Any:
    method = transforms.rule_method(value, name)
    if method is None:
        raise refused(value, name, ())
    return method


def _token(run: Evaluator, value: Token, name: str) -> Any:
    if value.kind == "tree structure" and name in ("num_leaves", "num_nodes"):
        return arrays.tree_fact(value, name)
    raise refused(value, name, ("num_leaves", "num_nodes"))


def _ignored(run: Evaluator, value: Ignored, name: str) -> Any:
    return Ignored(name)


def _closure(run: Evaluator, value: Closure | Native, name: str) -> Any:
    raise RefusedSource(
        f"the attribute {name[:60]} of the function {value.name} is not allowed",
        hint="a custom rule is set on a function made by jax.custom_vjp or jax.custom_jvp",
    )


READERS: dict[type, Any] = {
    dict: _container,
    list: _container,
    tuple: _container,
    str: _container,
    Record: _record,
    int: _number,
    float: _number,
    complex: _number,
    bool: _number,
    AtPlace: _place,
    DType: _dtype,
    Transformed: _transformed,
    Token: _token,
    Ignored: _ignored,
    Closure: _closure,
}
