"""Calls of defs and lambdas of the source: arguments bound by Python's rules, then the body."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import jax

from app.compute.language.messages import near
from app.compute.language.names import parameters_of
from app.compute.language.scope import Scope
from app.compute.language.values import Closure
from app.core.errors import InvalidArgument

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


def make(run: Evaluator, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Closure:
    """The function that a def or lambda makes where it stands, defaults evaluated."""
    arguments = node.args
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return Closure(
        name=node.name if isinstance(node, ast.FunctionDef) else "lambda",
        node=node,
        scope=scope,
        defaults=tuple(run.evaluate(default, scope) for default in arguments.defaults),
        keyword_defaults={
            argument.arg: run.evaluate(default, scope)
            for argument, default in keywords
            if default is not None
        },
    )


def call(run: Evaluator, closure: Closure, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run the body in a scope of its own; a def that returns nothing gives None."""
    local = run.local[closure.node]
    scope = Scope(closure.scope, local.own, local.outer)
    _bind(closure, scope, args, dict(kwargs))
    body = closure.node.body
    with run.meter.calling():
        if isinstance(body, list):
            outcome = run.execute(body, scope)
            return outcome.value if outcome is not None else None
        with jax.named_scope(f"L{body.lineno}"):
            return run.evaluate(body, scope)


def _bind(closure: Closure, scope: Scope, args: list[Any], kwargs: dict[str, Any]) -> None:
    arguments = closure.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if len(args) > len(positional) and arguments.vararg is None:
        raise InvalidArgument(
            f"{closure.name}() takes {_count(len(positional))}, but {len(args)} were given",
            hint=_takes(closure),
        )
    values = scope.variables
    required = len(positional) - len(closure.defaults)
    for index, argument in enumerate(positional):
        name = argument.arg
        by_name = name in kwargs and index >= len(arguments.posonlyargs)
        if index < len(args):
            if by_name:
                raise InvalidArgument(f"{closure.name}() got two values for {name}")
            values[name] = args[index]
        elif by_name:
            values[name] = kwargs.pop(name)
        elif index >= required:
            values[name] = closure.defaults[index - required]
        else:
            raise _missing(closure, name)
    if arguments.vararg is not None:
        values[arguments.vararg.arg] = tuple(args[len(positional) :])
    _bind_keywords(closure, values, kwargs)


def _bind_keywords(closure: Closure, values: dict[str, Any], kwargs: dict[str, Any]) -> None:
    arguments = closure.node.args
    for argument in arguments.kwonlyargs:
        name = argument.arg
        if name in kwargs:
            values[name] = kwargs.pop(name)
        elif name in closure.keyword_defaults:
            values[name] = closure.keyword_defaults[name]
        else:
            raise _missing(closure, name)
    if arguments.kwarg is not None:
        values[arguments.kwarg.arg] = kwargs
    elif kwargs:
        name = next(iter(kwargs))
        raise InvalidArgument(
            f"{closure.name}() has no parameter {name[:60]}",
            hint=near(name, parameters_of(arguments)) or _takes(closure),
        )


def _missing(closure: Closure, name: str) -> InvalidArgument:
    return InvalidArgument(f"{closure.name}() needs a value for {name}", hint=_takes(closure))


def _takes(closure: Closure) -> str:
    names = parameters_of(closure.node.args)
    return f"its parameters are {', '.join(names)}"[:200] if names else "it has no parameters"


def _count(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"
