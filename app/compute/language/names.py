"""Which names each function binds, and the check, before anything runs, that every name is known.

The analysis is Python's: a name assigned anywhere in a function is local to all of it. Names that
nothing binds are refused at once, with near matches; chains such as ``jnp.foo`` are looked up in
the registry where the module's name is never rebound.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from app.compute.language.tree_check import UNREAD_FIELDS

ScopeNode: TypeAlias = ast.FunctionDef | ast.Lambda | ast.Module | ast.Expression
COMPREHENSIONS = (ast.ListComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.FunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class LocalNames:
    """Names that a scope binds, and names that it declares nonlocal."""

    own: frozenset[str]
    outer: frozenset[str]


def arguments_of(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters of a def or lambda, where they stand."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return every + [one for one in (arguments.vararg, arguments.kwarg) if one is not None]


def parameters_of(arguments: ast.arguments) -> list[str]:
    """The names of all parameters of a def or lambda."""
    return [argument.arg for argument in arguments_of(arguments)]


def analyse(tree: ast.AST) -> Mapping[ast.AST, LocalNames]:
    """The local names of each def, lambda and of the module itself."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.Module, ast.Expression)):
            found[node] = _locals_of(node)
    return found


def _locals_of(node: ScopeNode) -> LocalNames:
    own: set[str] = set()
    outer: set[str] = set()
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        own.update(parameters_of(node.args))
    for inner in _own_nodes(node):
        if isinstance(inner, ast.Nonlocal):
            outer.update(inner.names)
        own.update(bound_by(inner))
    return LocalNames(frozenset(own - outer), frozenset(outer))


def bound_by(node: ast.AST) -> Iterator[str]:
    """Names that this node itself binds."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]


def _own_nodes(scope: ScopeNode) -> Iterator[ast.AST]:
    """Nodes that bind in this scope: not those of inner functions or comprehension targets."""
    body = scope.body if isinstance(scope.body, list) else [scope.body]
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, SCOPES):
            stack.extend(getattr(node, "decorator_list", ()))
        elif isinstance(node, COMPREHENSIONS):
            stack.extend(_walrus(node))
        else:
            stack.extend(ast.iter_child_nodes(node))


def _walrus(node: ast.AST) -> Iterator[ast.AST]:
    stack = list(ast.iter_child_nodes(node))
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.NamedExpr):
            yield inner.target
        if not isinstance(inner, SCOPES):
            stack.extend(ast.iter_child_nodes(inner))


def read_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that is ever evaluated: all but annotations."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name not in UNREAD_FIELDS:
                children = value if isinstance(value, list) else (value,)
                stack.extend(child for child in children if isinstance(child, ast.AST))


def loads(tree: ast.AST, local: Mapping[ast.AST, LocalNames]) -> Iterator[tuple[ast.Name, bool]]:
    """Each read of a name, outside annotations, with whether an enclosing scope binds it."""
    stack: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, known = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node, node.id in known
        outside = known
        if node in local:
            known = known | local[node].own
        elif isinstance(node, COMPREHENSIONS):
            known = known | _targets(node)
        elif isinstance(node, ast.ClassDef):
            known = known | {name for inner in node.body for name in bound_by(inner)}
        for name, value in ast.iter_fields(node):
            if name in UNREAD_FIELDS:
                continue
            seen = outside if name in ("decorator_list", "bases") else known
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    stack.append((child, seen))


def _targets(node: ast.ListComp | ast.DictComp | ast.GeneratorExp) -> frozenset[str]:
    return frozenset(
        inner.id
        for generator in node.generators
        for inner in ast.walk(generator.target)
        if isinstance(inner, ast.Name)
    )
