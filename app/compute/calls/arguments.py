"""Lines up what the client sent with the function's parameters: args, wrt, static.

Works on trees and names; the trees may hold abstract values or tracers alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters left to be given at run time, in order; ``variadic`` takes any more.

    ``shifted``: static values took some parameters, so the rest are passed by name.
    """

    names: tuple[str, ...]
    required: frozenset[str]
    positional: frozenset[str]
    variadic: str | None = None
    keywords: bool = False
    shifted: bool = False

    @classmethod
    def of(cls, parameters: Sequence[Any], static: Mapping[str, Any]) -> Signature:
        """From the language's parameters, without those given as ``static``."""
        kinds = {parameter.name: str(parameter.kind) for parameter in parameters}
        keywords = any("keyword" in kind and "var" in kind for kind in kinds.values())
        variadic = [name for name, kind in kinds.items() if kind in VARIADIC]
        named = {name: kind for name, kind in kinds.items() if "var" not in kind}
        for name in static:
            if name not in named and not keywords:
                raise InvalidArgument(
                    f"the function has no parameter {name!r}",
                    pointer=f"/static/{name}",
                    hint=f"its parameters are {listed(tuple(named))}",
                )
        names = tuple(name for name in named if name not in static)
        required = frozenset(
            p.name for p in parameters if p.name in names and not p.has_default
        )  # fmt: skip
        positional = frozenset(name for name in names if named[name] != "keyword_only")
        shifted = bool(static)
        rest = None if shifted or not variadic else variadic[0]
        return cls(names, required, positional, rest, keywords, shifted)

    def after(self, leading: int) -> Signature:
        """Without the first ``leading`` parameters, which the verb gives itself."""
        if not leading:
            return self
        if len(self.names) < leading and self.variadic is None:
            raise InvalidArgument(
                f"the function takes {listed(self.names)}: too few for this verb",
                pointer="/function",
                hint="the right side of an ode is f(t, y), or f(t, y, p) with parameters",
            )
        names = self.names[leading:]
        return replace(self, names=names, required=self.required & frozenset(names))


VARIADIC = ("var_positional",)


@dataclass(frozen=True, slots=True)
class Arguments:
    """One tree per argument, in order, with the name and the JSON pointer of each."""

    names: tuple[str, ...]
    pointers: tuple[str, ...]
    trees: tuple[Any, ...]
    by_name: bool

    def with_trees(self, trees: Sequence[Any]) -> Arguments:
        """The same arguments holding other values."""
        return Arguments(self.names, self.pointers, tuple(trees), self.by_name)


def arrange(given: Any, signature: Signature) -> Arguments:
    """Match ``args``, a list by position or an object by name, with the parameters."""
    if isinstance(given, Mapping):
        return _by_name(given, signature)
    if isinstance(given, (list, tuple)):
        return _by_position(given, signature)
    raise InvalidArgument("args is a list by position or an object by name", pointer="/args")


def _by_position(given: Sequence[Any], signature: Signature) -> Arguments:
    names = [name for name in signature.names if name in signature.positional]
    count = len(given)
    if count > len(names) and signature.variadic is None:
        raise InvalidArgument(
            f"the function takes {len(names)} arguments, {count} were given",
            pointer=f"/args/{len(names)}",
            hint=f"its parameters are {listed(tuple(names))}",
        )
    names += [f"{signature.variadic}[{place}]" for place in range(count - len(names))]
    _check_missing(names[:count], signature)
    pointers = tuple(f"/args/{place}" for place in range(count))
    return Arguments(tuple(names[:count]), pointers, tuple(given), by_name=False)


def _by_name(given: Mapping[str, Any], signature: Signature) -> Arguments:
    for name in given:
        if name not in signature.names and not signature.keywords:
            raise InvalidArgument(
                f"the function has no parameter {name!r}",
                pointer=f"/args/{name}",
                hint=f"its parameters are {listed(signature.names)}",
            )
    extra = tuple(sorted(name for name in given if name not in signature.names))
    names = tuple(name for name in signature.names if name in given) + extra
    _check_missing(names, signature)
    pointers = tuple(f"/args/{name}" for name in names)
    return Arguments(names, pointers, tuple(given[name] for name in names), by_name=True)


def _check_missing(names: Sequence[str], signature: Signature) -> None:
    missing = [name for name in signature.names if name in signature.required - set(names)]
    if missing:
        raise InvalidArgument(
            f"no value was given for {listed(tuple(missing))}",
            pointer="/args",
            hint=f"the parameters are {listed(signature.names)}",
        )


@dataclass(frozen=True, slots=True)
class Wrt:
    """The arguments a derivative is taken in; ``single`` when not asked for as a list."""

    positions: tuple[int, ...]
    single: bool
    given: bool = True

    def pack(self, items: Sequence[Any]) -> Any:
        """The bare item for a single argument, a list in the asked order otherwise."""
        return items[0] if self.single else list(items)


def resolve_wrt(wrt: Any, arguments: Arguments) -> Wrt:
    """Read ``wrt``: a position, a name or a list of either; the first argument by default."""
    if wrt is None:
        if not arguments.names:
            raise InvalidArgument(
                "the function has no argument to differentiate in", pointer="/wrt"
            )
        return Wrt((0,), single=True, given=False)
    if not isinstance(wrt, (list, tuple)):
        return Wrt((_position(wrt, arguments, "/wrt"),), single=True)
    if not wrt:
        raise InvalidArgument("wrt names no argument", pointer="/wrt")
    positions = tuple(_position(each, arguments, f"/wrt/{at}") for at, each in enumerate(wrt))
    if len(set(positions)) != len(positions):
        raise InvalidArgument("wrt names an argument twice", pointer="/wrt")
    return Wrt(positions, single=False)


def _position(which: Any, arguments: Arguments, pointer: str) -> int:
    count = len(arguments.names)
    if isinstance(which, int) and not isinstance(which, bool) and -count <= which < count:
        return which % count
    if isinstance(which, str) and which in arguments.names:
        return arguments.names.index(which)
    raise InvalidArgument(
        f"wrt {which!r} is none of the {count} arguments given",
        pointer=pointer,
        hint=f"a position from 0 to {count - 1}, or one of {listed(arguments.names)}",
    )


def listed(names: Sequence[str]) -> str:
    """Names for a message: ``x, y``, or ``none``."""
    return ", ".join(names) or "none"
