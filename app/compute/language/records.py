"""Records: ``class P(NamedTuple)`` and dataclasses of a source, as pytrees that JAX carries.

A record never changes. The host's named tuples (``jnp.linalg.svd(x)``, say) enter the language as
records too, so that their fields can be read and nothing else of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax

from app.compute.language.messages import near
from app.core.errors import InvalidArgument


@dataclass(frozen=True, slots=True, eq=False)
class RecordClass:
    """A record type: fields in order, defaults, methods (closures) and properties by name."""

    name: str
    fields: tuple[str, ...]
    defaults: Mapping[str, Any]
    methods: Mapping[str, Any]
    properties: frozenset[str]
    is_tuple: bool


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A value of a record type; ``values`` are parallel to the type's fields."""

    type: RecordClass
    values: tuple[Any, ...]

    def get(self, field: str) -> Any:
        """The value of a field that the type has."""
        return self.values[self.type.fields.index(field)]

    def replace(self, changes: Mapping[str, Any]) -> Record:
        """The record with some fields exchanged; every key must be a field."""
        pairs = zip(self.type.fields, self.values, strict=True)
        return Record(self.type, tuple(changes.get(name, value) for name, value in pairs))

    def plain(self) -> dict[str, Any]:
        """What a client receives: the values by field; of a named tuple, in order for JAX too."""
        kind = OrderedDict if self.type.is_tuple else dict
        return kind(zip(self.type.fields, self.values, strict=True))


@cache
def tuple_class(name: str, fields: tuple[str, ...]) -> RecordClass:
    """The one record type with the shape of a host's named tuple: trees of it are alike."""
    return RecordClass(name, fields, {}, {}, frozenset(), is_tuple=True)


def construct(type_: RecordClass, args: list[Any], kwargs: Mapping[str, Any]) -> Record:
    """A record from positional and named fields, defaults filled in."""
    if len(args) > len(type_.fields):
        raise InvalidArgument(
            f"{type_.name}() takes {len(type_.fields)} fields, but {len(args)} were given",
            hint=fields_of(type_),
        )
    given = dict(zip(type_.fields, args, strict=False))
    for name, value in kwargs.items():
        if name not in type_.fields:
            raise InvalidArgument(
                f"{type_.name} has no field {name[:60]}",
                hint=near(name, type_.fields) or fields_of(type_),
            )
        if name in given:
            raise InvalidArgument(f"{type_.name}() got two values for {name}")
        given[name] = value
    missing = [name for name in type_.fields if name not in given and name not in type_.defaults]
    if missing:
        raise InvalidArgument(
            f"{type_.name}() needs a value for {', '.join(missing)}"[:200], hint=fields_of(type_)
        )
    return Record(
        type_,
        tuple(given[name] if name in given else type_.defaults[name] for name in type_.fields),
    )


def replaced(record: Record, changes: Mapping[str, Any]) -> Record:
    """The record with some fields exchanged; raise for a field that its type lacks."""
    for name in changes:
        if name not in record.type.fields:
            raise InvalidArgument(
                f"{record.type.name} has no field {name[:60]}",
                hint=near(name, record.type.fields) or fields_of(record.type),
            )
    return record.replace(changes)


def fields_of(type_: RecordClass) -> str:
    """A hint that lists the fields of a type."""
    return f"its fields are {', '.join(type_.fields)}"[:200]


jax.tree_util.register_pytree_node(
    Record,
    lambda record: (record.values, record.type),
    lambda type_, values: Record(type_, tuple(values)),
)
