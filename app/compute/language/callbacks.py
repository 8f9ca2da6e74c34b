"""Functions of the language as JAX sees them: callables whose every value crosses the guard."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from app.compute.language.values import Builtin, Closure, Transformed

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


class Callback:
    """Wraps one function of the language for one evaluation.

    JAX may hold it past the call that made it (a custom rule runs while the outer function is
    transposed); it then still spends the fuel of its evaluation.
    """

    __slots__ = (
        "__name__",
        "__qualname__",
        "__signature__",
        "__weakref__",
        "function",
        "functions",
        "run",
    )

    def __init__(self, run: Evaluator, function: Any, *, functions: bool = False) -> None:
        self.run = run
        self.function = function
        self.functions = functions
        self.__name__ = self.__qualname__ = _name_of(function)
        self.__signature__ = _signature_of(run, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run.call_back(self.function, args, kwargs, functions=self.functions)


def _name_of(function: Any) -> str:
    name = str(getattr(function, "name", "function")).rpartition(".")[2]
    return name if name.isidentifier() else "function"


def _signature_of(run: Evaluator, function: Any) -> inspect.Signature:
    if type(function) is Closure:
        return _closure_signature(run, function)
    if type(function) in (Builtin, Transformed):
        try:
            return inspect.signature(function.function)
        except (TypeError, ValueError):
            pass
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            kinds("args", kinds.VAR_POSITIONAL),
            kinds("kwargs", kinds.VAR_KEYWORD),
        ]
    )


def _closure_signature(run: Evaluator, closure: Closure) -> inspect.Signature:
    """With the true defaults: JAX fills them in where a custom rule is called with keywords."""
    arguments = closure.node.args
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(closure.defaults)
    parameters = []
    for index, argument in enumerate(positional):
        only = index < len(arguments.posonlyargs)
        kind = kinds.POSITIONAL_ONLY if only else kinds.POSITIONAL_OR_KEYWORD
        missing = index < required
        default = kinds.empty if missing else run.leave(closure.defaults[index - required])
        parameters.append(kinds(argument.arg, kind, default=default))
    if arguments.vararg is not None:
        parameters.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    for argument in arguments.kwonlyargs:
        given = argument.arg in closure.keyword_defaults
        default = run.leave(closure.keyword_defaults[argument.arg]) if given else kinds.empty
        parameters.append(kinds(argument.arg, kinds.KEYWORD_ONLY, default=default))
    if arguments.kwarg is not None:
        parameters.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)
