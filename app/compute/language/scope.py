"""Scopes: where names live while a source is evaluated, with Python's rules for which is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.errors import RefusedSource

MISSING: Any = object()


class Scope:
    """Names of one function call, comprehension, class body or module.

    ``own`` are names that belong here even before they are bound; ``outer`` are nonlocal names.
    """

    __slots__ = ("inner", "outer", "own", "parent", "variables")

    def __init__(
        self,
        parent: Scope | None = None,
        own: frozenset[str] = frozenset(),
        outer: frozenset[str] = frozenset(),
        *,
        inner: bool = False,
    ) -> None:
        self.variables: dict[str, Any] = {}
        self.parent = parent
        self.own = own
        self.outer = outer
        self.inner = inner

    def find(self, name: str) -> Any:
        """The value that ``name`` means here, or ``MISSING``."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            if name in scope.own:
                raise RefusedSource(
                    f"{name[:60]} is used before it has a value",
                    hint="a name that is assigned in a function is local to it in all its lines",
                )
            scope = scope.parent
        return MISSING

    def bind(self, name: str, value: Any) -> None:
        """Bind ``name`` here, or where a nonlocal name lives."""
        scope = self
        if name in self.outer:
            above = self.parent
            while above is not None and name not in above.own:
                above = above.parent
            scope = above or self
        scope.variables[name] = value

    def bind_from_comprehension(self, name: str, value: Any) -> None:
        """What ``:=`` does: bind in the nearest scope that is not a comprehension."""
        scope = self
        while scope.inner and scope.parent is not None:
            scope = scope.parent
        scope.bind(name, value)


def root_scope(variables: Mapping[str, Any]) -> Scope:
    """A scope that holds exactly these names."""
    scope = Scope()
    scope.variables.update(variables)
    return scope
