"""The kinds of value of the language that are not plain Python data or arrays.

Each is opaque to the source: what may be done with one is decided by exact type in the tables of
this package, never by looking up an attribute that the source named.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator
    from app.compute.language.scope import Scope

Apply: TypeAlias = "Callable[[Evaluator, list[Any], dict[str, Any]], Any]"


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A namespace of the registry: a fixed table of names. ``denied`` says why others are not."""

    name: str
    members: Mapping[str, Any]
    denied: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Builtin:
    """A registered array function of the host, called with checked arguments only."""

    name: str
    function: Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Native:
    """A function that the evaluator implements; ``python_type`` where it is a type as well."""

    name: str
    apply: Apply
    python_type: type | None = None


def native(name: str, function: Callable[..., Any], python_type: type | None = None) -> Native:
    """``function(evaluator, *args, **kwargs)`` as a value of the language."""

    def apply(run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return function(run, *args, **kwargs)

    return Native(name, apply, python_type)


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A host value that may only be handed back to the host: a tree structure, an enum member."""

    kind: str
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type; calling it converts."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Indexer:
    """``jnp.r_`` and its kin: an object that is only ever indexed."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Ignored:
    """A name that only annotations use."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ArrayType:
    """``jax.Array``: for annotations and isinstance."""

    name: str = "jax.Array"


@dataclass(frozen=True, slots=True, eq=False)
class Transformed:
    """A function made by a transform such as ``jax.grad``; opaque, callable.

    ``order`` is how many derivatives one call of it takes.
    """

    name: str
    function: Callable[..., Any]
    order: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """``functools.partial`` of any function of the language."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """An attribute that is a function: of an array, a container, a record or a custom rule."""

    name: str
    apply: Apply


@dataclass(frozen=True, slots=True, eq=False)
class AtView:
    """``x.at``, waiting for its index."""

    array: Any


@dataclass(frozen=True, slots=True, eq=False)
class AtPlace:
    """``x.at[index]``, waiting for ``set``, ``add`` or another update."""

    array: Any
    index: Any


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A def or lambda of the source together with the scope that it was made in."""

    name: str
    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    defaults: tuple[Any, ...]
    keyword_defaults: Mapping[str, Any]


FUNCTIONS = (Builtin, Native, Transformed, Partial, Method, Closure)
"""Kinds that can be called by a source and handed to a transform."""
