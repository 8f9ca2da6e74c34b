"""The check of names before anything runs: unknown ones, and modules' members, are refused."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from app.compute.language import imports, lookup
from app.compute.language.names import (
    LocalNames,
    arguments_of,
    bound_by,
    loads,
    parameters_of,
    read_nodes,
)
from app.compute.language.registry import registry
from app.compute.language.scope import MISSING
from app.compute.language.text import SourceText
from app.compute.language.values import Module
from app.core.errors import ProblemError, RefusedSource

DECORATORS_OF_METHODS = ("property",)


def check_names(tree: ast.AST, source: SourceText, local: Mapping[ast.AST, LocalNames]) -> None:
    """Raise for the first name, in source order, that can never mean anything."""
    found: list[tuple[tuple[int, int], ProblemError]] = []
    root = lookup.module_root()
    for node, bound in loads(tree, local):
        if bound or root.find(node.id) is not MISSING or node.id in DECORATORS_OF_METHODS:
            continue
        visible = frozenset[str]().union(*(names.own for names in local.values()))
        found.append(_at(source, node, lookup.unknown_name(node.id, {*visible, *root.variables})))
    for node, error in [*_twice_named(tree), *_refused_members(tree)]:
        found.append(_at(source, node, error))
    if found:
        raise min(found, key=lambda pair: pair[0])[1]


def _at(
    source: SourceText, node: ast.AST, error: ProblemError
) -> tuple[tuple[int, int], ProblemError]:
    error.line, error.column = source.position(node)
    return (error.line or 0, error.column or 0), error


def _twice_named(tree: ast.AST) -> list[tuple[ast.AST, ProblemError]]:
    """Parameters named like one before them, which Python refuses only when it compiles."""
    refused: list[tuple[ast.AST, ProblemError]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            seen: set[str] = set()
            for argument in arguments_of(node):
                if argument.arg in seen:
                    message = f"the parameter {argument.arg} is named twice"
                    error = RefusedSource(message, hint="give each parameter a name of its own")
                    refused.append((argument, error))
                seen.add(argument.arg)
    return refused


def _refused_members(tree: ast.AST) -> list[tuple[ast.AST, ProblemError]]:
    """Imports and chains such as ``jnp.linalg.foo`` that the registry does not have."""
    modules, refused = _module_names(tree)
    inner: set[ast.AST] = set()
    for node in read_nodes(tree):
        if not isinstance(node, ast.Attribute) or node in inner:
            continue
        chain: list[ast.Attribute] = [node]
        while isinstance(chain[-1].value, ast.Attribute):
            chain.append(chain[-1].value)
        inner.update(chain[1:])
        base = chain[-1].value
        value = modules.get(base.id) if isinstance(base, ast.Name) else None
        for part in reversed(chain):
            if type(value) is not Module:
                break
            try:
                value = lookup.member(value, part.attr)
            except ProblemError as error:
                refused.append((part, error))
                break
    return refused


def _module_names(
    tree: ast.AST,
) -> tuple[dict[str, Module], list[tuple[ast.AST, ProblemError]]]:
    """Names that mean one module wherever they stand, and imports that are refused."""
    modules = dict(registry().roots)
    refused: list[tuple[ast.AST, ProblemError]] = []
    rebound: set[str] = set()
    imported: dict[str, list[object]] = {}
    for node in read_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                try:
                    name, value = _imported(node, alias)
                except ProblemError as error:
                    refused.append((alias, error))
                else:
                    imported.setdefault(name, []).append(value)
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
            rebound.update(parameters_of(node.args))
        if not isinstance(node, ast.alias):
            rebound.update(bound_by(node))
    for name, values in imported.items():
        modules.pop(name, None)
        if len({id(value) for value in values}) == 1 and type(values[0]) is Module:
            modules[name] = values[0]
    return {name: value for name, value in modules.items() if name not in rebound}, refused


def _imported(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, object]:
    known = registry()
    if isinstance(node, ast.Import):
        return imports.module(known, alias.name, alias.asname)
    value = imports.member(known, node.module or "", alias.name)
    return alias.asname or alias.name, value
