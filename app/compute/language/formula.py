"""Bare formulas: which of their names are parameters, in order of first appearance."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from app.compute.language import lookup
from app.compute.language.names import LocalNames, loads
from app.compute.language.text import SourceText
from app.compute.language.values import Builtin, DType, Native
from app.core.errors import RefusedSource

FUNCTIONS = (Builtin, DType, Native)


def free_names(
    tree: ast.Expression, source: SourceText, local: Mapping[ast.AST, LocalNames]
) -> tuple[str, ...]:
    """The parameters of a formula; raise for a name that is called and is no function.

    A name of a function that is only ever used as a number (``mean + 2*std``) is a parameter.
    """
    known = lookup.formula_names()
    reads = [node for node, bound in loads(tree, local) if not bound]
    reads.sort(key=lambda node: (node.lineno, node.col_offset))
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    functional = called | _handed_over(tree)
    as_function = {node.id for node in reads if id(node) in functional}
    names: dict[str, None] = {}
    for node in reads:
        name = node.id
        if name in known and (name in as_function or type(known[name]) not in FUNCTIONS):
            continue
        if id(node) in called and name not in known:
            error = lookup.unknown_name(name, known)
            if error.hint is None:
                error.hint = "parameters are numbers or arrays; write * for a product"
            error.line, error.column = source.position(node)
            raise error
        names[name] = None
    return tuple(names)


def _handed_over(tree: ast.Expression) -> set[int]:
    """Names given to a call as they are, or read for an attribute: these may be functions."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found.update(id(argument) for argument in node.args)
            found.update(id(keyword.value) for keyword in node.keywords)
        elif isinstance(node, ast.Attribute):
            found.add(id(node.value))
    return found


def refuse_assignments(tree: ast.Module, source: SourceText) -> None:
    """Refuse ``y = x**2`` for what it is, before ``x`` is found to be unknown."""
    plain = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass)
    if all(isinstance(node, plain) for node in tree.body) and not any(
        isinstance(node, (ast.Lambda, ast.Call)) for node in ast.walk(tree)
    ):
        raise refuse_statement(tree, source)


def refuse_statement(tree: ast.Module, source: SourceText) -> RefusedSource:
    """Why a source without any function cannot be called."""
    last = tree.body[-1] if tree.body else None
    hint = "write def f(x): return …, a lambda, or a bare formula such as x**2 + sin(y)"
    if isinstance(last, ast.Assign) and len(tree.body) == 1:
        hint = "send the right-hand side alone as a formula"
    line, column = source.position(last)
    return RefusedSource("the source defines no function", line=line, column=column, hint=hint)
