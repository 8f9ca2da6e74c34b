"""The evaluator: walks a checked syntax tree with JAX values, once a trace.

It holds what one call of a function may use (fuel, limits, positions) and the few entry points
that the tables of statements, expressions and functions work through. A refusal raised anywhere
below gets the position of the innermost syntax node on its way up.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import jax

from app.compute.language import calls, expressions, guard, host, statements
from app.compute.language.callbacks import Callback
from app.compute.language.limits import Limits
from app.compute.language.meter import Meter
from app.compute.language.names import LocalNames
from app.compute.language.registry import registry
from app.compute.language.scope import Scope
from app.compute.language.sparse import sparse_layer
from app.compute.language.values import Closure
from app.core.errors import LimitExceeded, ProblemError

if TYPE_CHECKING:
    from app.compute.language.text import SourceText


class Evaluator:
    """The state of one call of one function."""

    def __init__(
        self, source: SourceText, local: Mapping[ast.AST, LocalNames], limits: Limits
    ) -> None:
        self.source = source
        self.local = local
        self.limits = limits
        self.meter = Meter(limits)
        self.registry = registry()
        self.sparse = sparse_layer()
        self._callbacks: dict[int, Callback] = {}

    def evaluate(self, node: ast.AST, scope: Scope) -> Any:
        """The value of an expression."""
        try:
            self.meter.step()
            return expressions.EVALUATE[type(node)](self, node, scope)
        except ProblemError as error:
            self.placed(error, node)
            raise
        except RecursionError:
            raise self.placed(out_of_stack(), node) from None

    def formula(self, body: ast.expr, scope: Scope) -> Any:
        """The value of a formula, traced under the name of its line."""
        with jax.named_scope(f"L{body.lineno}"):
            return self.evaluate(body, scope)

    def execute(self, body: Iterable[ast.stmt], scope: Scope) -> statements.Outcome:
        """Run statements in order, each under the name of its line; stop where one leaves."""
        for node in body:
            try:
                self.meter.step()
                with jax.named_scope(f"L{node.lineno}"):
                    outcome = statements.EXECUTE[type(node)](self, node, scope)
            except ProblemError as error:
                self.placed(error, node)
                raise
            if outcome is not None:
                return outcome
        return None

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call any function of the language with values of the language."""
        return calls.call(self, function, args, kwargs)

    def host(
        self, name: str, function: Callable[..., Any], args: Iterable[Any], **kwargs: Any
    ) -> Any:
        """Call a function of the host with values of the language; return one of its values."""
        return host.call(self, name, function, list(args), kwargs)

    def enter(self, value: Any) -> Any:
        """A host value, checked."""
        return guard.enter(self, value)

    def leave(self, value: Any) -> Any:
        """What the host receives for a value."""
        return guard.leave(self, value)

    def callback(self, function: Any, *, functions: bool = False) -> Callback:
        """A function of the language as a callable of the host.

        A def keeps one callable for as long as the run lasts, so JAX traces it once a signature.
        """
        if type(function) is not Closure or functions:
            return Callback(self, function, functions=functions)
        key = id(function)
        if key not in self._callbacks:
            self._callbacks[key] = Callback(self, function)
        return self._callbacks[key]

    def call_back(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, functions: bool
    ) -> Any:
        """What happens when the host calls a function of the language."""
        with self.meter.called_back():
            given = [guard.enter(self, value, functions=functions) for value in args]
            named = {
                name: guard.enter(self, value, functions=functions)
                for name, value in kwargs.items()
            }
            try:
                return guard.leave(self, calls.call(self, function, given, named))
            except ProblemError as error:
                # JAX walks the frames of what passes its borders, thousands in a recursion
                raise error.with_traceback(None) from None

    def placed(self, error: ProblemError, node: ast.AST) -> ProblemError:
        """``error`` with the position of ``node``, unless it has one already."""
        if error.line is None:
            error.line, error.column = self.source.position(node)
        return error


def out_of_stack() -> LimitExceeded:
    """The refusal for a source whose evaluation is nested too deeply for the host's stack."""
    return LimitExceeded(
        "the function is nested too deeply to be traced",
        hint="use lax.scan, lax.fori_loop or lax.while_loop in place of recursion",
    )
