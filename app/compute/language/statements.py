"""Statements: one small function a kind of syntax node, in the table ``EXECUTE``.

A statement gives None, or an ``Outcome`` that ends the block it stands in: how return, break and
continue travel without exceptions of the host.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from app.compute.language import classes, closures, guard, imports, operators, targets
from app.compute.language.describe import describe
from app.compute.language.expressions import truth_of
from app.compute.language.scope import Scope
from app.compute.language.values import Native
from app.core.errors import InvalidArgument

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


@dataclass(frozen=True, slots=True)
class Leave:
    """How a block ended early: ``kind`` is return, break or continue."""

    kind: str
    value: Any = None


Outcome: TypeAlias = Leave | None
BREAK, CONTINUE = Leave("break"), Leave("continue")


def _expression(run: Evaluator, node: ast.Expr, scope: Scope) -> Outcome:
    if not isinstance(node.value, ast.Constant):
        run.evaluate(node.value, scope)
    return None


def _nothing(run: Evaluator, node: ast.stmt, scope: Scope) -> Outcome:
    return None


def _return(run: Evaluator, node: ast.Return, scope: Scope) -> Outcome:
    return Leave("return", None if node.value is None else run.evaluate(node.value, scope))


def _break(run: Evaluator, node: ast.Break, scope: Scope) -> Outcome:
    return BREAK


def _continue(run: Evaluator, node: ast.Continue, scope: Scope) -> Outcome:
    return CONTINUE


def _assign(run: Evaluator, node: ast.Assign, scope: Scope) -> Outcome:
    for target in node.targets:
        _refuse_array_item(run, target, scope)
    value = run.evaluate(node.value, scope)
    for target in node.targets:
        targets.assign(run, target, value, scope)
    return None


def _refuse_array_item(run: Evaluator, target: ast.expr, scope: Scope) -> None:
    """``x[0] = 1.0`` is refused where it stands, before its right side is traced."""
    if isinstance(target, ast.Subscript):
        container = run.evaluate(target.value, scope)
        if guard.is_array(container):
            raise run.placed(targets.immutable(container, target), target)


def _annotated(run: Evaluator, node: ast.AnnAssign, scope: Scope) -> Outcome:
    if node.value is not None:
        targets.assign(run, node.target, run.evaluate(node.value, scope), scope)
    return None


def _augmented(run: Evaluator, node: ast.AugAssign, scope: Scope) -> Outcome:
    kind, target = type(node.op), node.target
    if isinstance(target, ast.Subscript):
        container = run.evaluate(target.value, scope)
        if guard.is_array(container):
            raise run.placed(targets.immutable(container, target, kind), target)
    read = ast.copy_location(_reading(target), target)
    value = operators.binary(run, kind, run.evaluate(read, scope), run.evaluate(node.value, scope))
    targets.assign(run, target, value, scope)
    return None


def _reading(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    assert isinstance(target, ast.Name)
    return ast.Name(target.id, ast.Load())


def _if(run: Evaluator, node: ast.If, scope: Scope) -> Outcome:
    """An elif is walked in a loop, so that long chains need no stack."""
    while True:
        if truth_of(run, node.test, run.evaluate(node.test, scope)):
            return run.execute(node.body, scope)
        if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
            return run.execute(node.orelse, scope)
        node = node.orelse[0]
        run.meter.step()


def _for(run: Evaluator, node: ast.For, scope: Scope) -> Outcome:
    try:
        items = targets.items_of(run, run.evaluate(node.iter, scope))
    except InvalidArgument as error:
        raise run.placed(error, node.iter) from None
    for item in items:
        run.meter.step()
        targets.assign(run, node.target, item, scope)
        outcome = run.execute(node.body, scope)
        if outcome is BREAK:
            return None
        if outcome is not None and outcome is not CONTINUE:
            return outcome
    return run.execute(node.orelse, scope)


def _while(run: Evaluator, node: ast.While, scope: Scope) -> Outcome:
    while truth_of(run, node.test, run.evaluate(node.test, scope)):
        run.meter.step()
        outcome = run.execute(node.body, scope)
        if outcome is BREAK:
            return None
        if outcome is not None and outcome is not CONTINUE:
            return outcome
    return run.execute(node.orelse, scope)


def _function(run: Evaluator, node: ast.FunctionDef, scope: Scope) -> Outcome:
    value: Any = closures.make(run, node, scope)
    for decorator in reversed(node.decorator_list):
        value = run.call(run.evaluate(decorator, scope), [value], {})
    scope.bind(node.name, value)
    return None


def _class(run: Evaluator, node: ast.ClassDef, scope: Scope) -> Outcome:
    scope.bind(node.name, classes.make(run, node, scope))
    return None


def _import(run: Evaluator, node: ast.Import, scope: Scope) -> Outcome:
    for alias in node.names:
        scope.bind(*imports.module(run.registry, alias.name, alias.asname))
    return None


def _import_from(run: Evaluator, node: ast.ImportFrom, scope: Scope) -> Outcome:
    for alias in node.names:
        value = imports.member(run.registry, node.module or "", alias.name)
        scope.bind(alias.asname or alias.name, value)
    return None


def _assert(run: Evaluator, node: ast.Assert, scope: Scope) -> Outcome:
    if not truth_of(run, node.test, run.evaluate(node.test, scope)):
        message = "" if node.msg is None else f": {_message(run, node.msg, scope)}"
        raise InvalidArgument(f"an assertion of the function failed{message}")
    return None


def _raise(run: Evaluator, node: ast.Raise, scope: Scope) -> Outcome:
    assert node.exc is not None
    message = _message(run, node.exc, scope)
    raise InvalidArgument(f"the function raised an error: {message}" if message else _RAISED)


_RAISED = "the function raised an error"


def _message(run: Evaluator, node: ast.expr, scope: Scope) -> str:
    value = run.evaluate(node, scope)
    if type(value) is Native:
        return value.name
    return value[:300] if type(value) is str else describe(value)


EXECUTE: dict[type, Callable[[Any, Any, Scope], Outcome]] = {
    ast.Expr: _expression,
    ast.Pass: _nothing,
    ast.Nonlocal: _nothing,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Assert: _assert,
    ast.Raise: _raise,
}
