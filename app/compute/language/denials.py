"""What Python has and the language does not, with the reason and what to write instead."""

from __future__ import annotations

import ast
from collections.abc import Mapping

STATEMENTS: Mapping[str, tuple[str, str]] = {
    "Try": ("try", "errors end the call; choose values with jnp.where or lax.cond"),
    "TryStar": ("try", "errors end the call; choose values with jnp.where or lax.cond"),
    "With": ("with", "call the functions directly; settings belong to the request"),
    "AsyncFunctionDef": ("async def", "write a plain def"),
    "AsyncFor": ("async for", "write a plain for"),
    "AsyncWith": ("async with", "call the functions directly"),
    "Match": ("match", "write if and elif for static values, lax.switch for traced ones"),
    "Global": ("global", "pass the value as an argument and return the new one"),
    "Delete": ("del", "leave it out: names end with their function"),
    "TypeAlias": ("a type alias", "leave it out: annotations are ignored"),
}
EXPRESSIONS: Mapping[str, tuple[str, str]] = {
    "Await": ("await", "call the function directly"),
    "Yield": ("yield", "build a list and return it, or use lax.scan"),
    "YieldFrom": ("yield", "build a list and return it, or use lax.scan"),
    "Set": ("a set", "write a tuple (…) or a list […]"),
    "SetComp": ("a set", "write a list comprehension […]"),
    "TemplateStr": ("a template string", "write a plain string"),
}
BUILTINS: Mapping[str, tuple[str, str | None]] = {
    "type": ("values are told apart by isinstance", "write isinstance(x, jax.Array)"),
    "set": ("order would not be fixed", "write a tuple or a list"),
    "frozenset": ("order would not be fixed", "write a tuple"),
    "filter": ("its length would depend on values", "write a list comprehension"),
    "iter": ("iterators are not values", "write a for loop"),
    "next": ("iterators are not values", "index the list, as in x[0]"),
    "hasattr": ("attributes are fixed by the language", "test with isinstance or a dict key"),
    "getattr": ("attributes are fixed by the language", "write x.name"),
    "setattr": ("values do not change", "make a new value"),
    "input": ("a function computes from its arguments alone", "add a parameter"),
    "super": ("classes are plain records", None),
    "object": ("classes are plain records", None),
    "property": ("it decorates methods of records only", None),
    "format": ("text is for keyword values only", "write a plain f-string"),
    "repr": ("text is for keyword values only", "write str(x) of a static value"),
}
HOST_REASON = "a function computes from its arguments alone and reaches nothing of the host"
HOST_HINT = "add a parameter, and send what it would have fetched as an argument"


def of_statement(node: ast.AST) -> tuple[str, str] | None:
    """What is refused about the kind of this node, and what to write, or None."""
    name = type(node).__name__
    return STATEMENTS.get(name) or EXPRESSIONS.get(name)


def of_builtin(name: str) -> tuple[str, str | None]:
    """Why a name of Python's builtins is not in the language, and what to write."""
    return BUILTINS.get(name, (HOST_REASON, HOST_HINT))
