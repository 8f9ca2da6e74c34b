"""Functions: source parsed and checked once, then bound to a callable that JAX can trace.

``parse`` runs nothing of the source. Everything that does run, module-level statements included,
runs in a fresh ``Evaluator`` each time the bound callable is called.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.compute.language import entries, formula, lookup, results, syntax
from app.compute.language.check import check_names
from app.compute.language.entries import Parameter
from app.compute.language.evaluator import Evaluator, out_of_stack
from app.compute.language.limits import Limits
from app.compute.language.names import LocalNames, analyse
from app.compute.language.scope import MISSING, Scope
from app.compute.language.stack import deep_stack
from app.compute.language.text import SourceText, read_source
from app.compute.language.tree_check import check_tree
from app.core import logging
from app.core.errors import ProblemError, RefusedSource

UNFORESEEN = "the function cannot be evaluated"


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of a client: immutable, parsed, not yet evaluated.

    ``kind`` is ``formula``, ``lambda`` or ``module``; ``parameters`` are in order, for a formula
    its free names by first appearance.
    """

    kind: str
    name: str
    parameters: tuple[Parameter, ...]
    source: SourceText
    tree: ast.Module | ast.Expression
    local: Mapping[ast.AST, LocalNames]
    limits: Limits

    def bind(self, static: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """A callable of JAX values, by position or by name, with ``static`` names filled in.

        It takes and returns pytrees; each call starts with new fuel. It raises ``RefusedSource``,
        ``InvalidArgument`` or ``LimitExceeded`` with line and column, and nothing else.
        """
        fixed = dict(static or {})

        def traced(*args: Any, **kwargs: Any) -> Any:
            run = Evaluator(self.source, self.local, self.limits)
            with deep_stack():
                try:
                    return self._call(run, args, {**fixed, **kwargs})
                except ProblemError as error:
                    # JAX walks the frames of what passes its borders, thousands in a recursion
                    raise error.with_traceback(None) from None
                except (RecursionError, MemoryError):
                    raise out_of_stack() from None
                except Exception as error:
                    # A source met a case that no table foresaw: refuse it rather than fail.
                    cause = traceback.format_exc(limit=-8)[-4000:]
                    logging.get("language").error("unforeseen", function=self.name, cause=cause)
                    raise RefusedSource(UNFORESEEN) from error

        traced.__name__ = traced.__qualname__ = self.name
        return traced

    def _call(self, run: Evaluator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = [results.argument(run, value) for value in args]
        named = {name: results.argument(run, value) for name, value in kwargs.items()}
        try:
            if self.kind == "formula":
                value = self._formula(run, given, named)
            else:
                value = run.call(self._entry(run), given, named)
            return results.result(run, value, self.name)
        except ProblemError as error:
            raise run.placed(error, entries.where(self.tree, self.name)) from None

    def _formula(self, run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        names = [parameter.name for parameter in self.parameters]
        scope = Scope(lookup.formula_root())
        scope.variables.update(entries.formula_arguments(names, args, kwargs))
        assert isinstance(self.tree, ast.Expression)
        return run.formula(self.tree.body, scope)

    def _entry(self, run: Evaluator) -> Any:
        root = lookup.module_root()
        if isinstance(self.tree, ast.Expression):
            return run.evaluate(self.tree.body, Scope(root))
        scope = Scope(root, self.local[self.tree].own)
        body = self.tree.body
        last = entries.trailing_lambda(self.tree) if self.name == entries.LAMBDA else None
        run.execute(body if last is None else body[:-1], scope)
        if last is not None:
            return run.evaluate(last, scope)
        value = scope.find(self.name)
        if value is MISSING:
            raise RefusedSource(f"the source does not define {self.name}")
        return value


def parse(source: str, entry: str | None = None, limits: Limits | None = None) -> Function:
    """Parse and check a formula, a lambda or a module with one def or more.

    ``entry`` names the function to call; without it the last def is. Raises ``RefusedSource`` or
    ``LimitExceeded`` with line and column.
    """
    limits = limits or Limits()
    text = read_source(source, limits)
    expression = None if syntax.is_module(text) else syntax.parse_expression(text)
    if expression is None:
        return _module(text, entry, limits)
    if entry is not None and not _is_entry(expression, entry):
        raise RefusedSource(
            f"the source does not define {entry[:60]}",
            hint="leave the entry out for one expression",
        )
    if isinstance(expression.body, ast.Lambda):
        return _lambda(text, expression, limits)
    return _formula(text, limits)


def _is_entry(expression: ast.Expression, entry: str) -> bool:
    return entry in ("", entries.LAMBDA, entries.FORMULA)


def _module(text: SourceText, entry: str | None, limits: Limits) -> Function:
    tree = syntax.parse_module(text)
    check_tree(tree, text, limits)
    local = analyse(tree)
    formula.refuse_assignments(tree, text)
    check_names(tree, text, local)
    name, parameters = entries.of_module(tree, entry, text)
    return Function("module", name, parameters, text, tree, local, limits)


def _lambda(text: SourceText, tree: ast.Expression, limits: Limits) -> Function:
    check_tree(tree, text, limits)
    local = analyse(tree)
    check_names(tree, text, local)
    assert isinstance(tree.body, ast.Lambda)
    parameters = entries.parameters(tree.body.args)
    return Function("lambda", entries.LAMBDA, parameters, text, tree, local, limits)


def _formula(text: SourceText, limits: Limits) -> Function:
    powers = text.with_powers() if "^" in text.text else text
    tree = syntax.parse_expression(powers)
    if tree is None:
        raise RefusedSource("the formula cannot be read", hint="write powers as x^2 or x**2")
    check_tree(tree, powers, limits)
    local = analyse(tree)
    names = formula.free_names(tree, powers, local)
    parameters = tuple(Parameter(name, False, "positional_or_keyword") for name in names)
    return Function("formula", entries.FORMULA, parameters, powers, tree, local, limits)
