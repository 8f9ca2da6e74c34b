"""Class statements: records only, made from ``NamedTuple`` or ``@dataclass``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from app.compute.language import closures
from app.compute.language.natives import DATACLASSES
from app.compute.language.records import RecordClass
from app.compute.language.scope import Scope
from app.compute.language.values import Closure, Ignored
from app.core.errors import RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

ALLOWED = "write class P(NamedTuple): … with fields, or a @dataclass"


def make(run: Evaluator, node: ast.ClassDef, scope: Scope) -> RecordClass:
    """The record type that a class statement makes; refuse any other class."""
    is_tuple = _is_named_tuple(run, node, scope)
    if not is_tuple and not _is_dataclass(run, node, scope):
        raise RefusedSource(f"the class {node.name[:60]} is not allowed", hint=ALLOWED)
    inner = Scope(scope, inner=True)
    fields: list[str] = []
    defaults: dict[str, Any] = {}
    methods: dict[str, Closure] = {}
    properties: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            fields.append(statement.target.id)
            if statement.value is not None:
                defaults[statement.target.id] = run.evaluate(statement.value, inner)
        elif isinstance(statement, ast.FunctionDef):
            methods[statement.name] = closures.make(run, statement, scope)
            if _is_property(statement):
                properties.add(statement.name)
        elif not _is_passive(statement):
            error = RefusedSource("this in a class is not allowed", hint=ALLOWED)
            raise run.placed(error, statement)
    return RecordClass(node.name, tuple(fields), defaults, methods, frozenset(properties), is_tuple)


def _is_named_tuple(run: Evaluator, node: ast.ClassDef, scope: Scope) -> bool:
    if node.keywords or len(node.bases) > 1:
        raise RefusedSource(f"the class {node.name[:60]} is not allowed", hint=ALLOWED)
    if not node.bases:
        return False
    base = run.evaluate(node.bases[0], scope)
    return type(base) is Ignored and base.name == "NamedTuple"


def _is_dataclass(run: Evaluator, node: ast.ClassDef, scope: Scope) -> bool:
    if node.bases or not node.decorator_list:
        return False
    made = [run.evaluate(decorator, scope) for decorator in node.decorator_list]
    return all(
        one is DATACLASSES["dataclass"] or (type(one) is Ignored and one.name == "dataclass")
        for one in made
    )


def _is_property(statement: ast.FunctionDef) -> bool:
    """Methods may be plain or properties; a class has no other decorators."""
    if not statement.decorator_list:
        return False
    decorators = statement.decorator_list
    only = decorators[0] if len(decorators) == 1 else None
    if isinstance(only, ast.Name) and only.id == "property":
        return True
    raise RefusedSource("a decorator of a method is not allowed", hint="@property is")


def _is_passive(statement: ast.stmt) -> bool:
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return docstring or isinstance(statement, ast.Pass)
