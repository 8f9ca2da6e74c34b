"""Entry points: which function of a source is called, and its parameters, without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from app.compute.language.formula import refuse_statement
from app.compute.language.messages import near
from app.compute.language.text import SourceText
from app.core.errors import InvalidArgument, RefusedSource

LAMBDA, FORMULA = "lambda", "formula"
KEEPS_PARAMETERS = frozenset(
    "grad value_and_grad vmap jit jacfwd jacrev jacobian hessian checkpoint remat custom_jvp "
    "custom_vjp vectorize".split()
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as Python's inspect names it: positional_only, positional_or_keyword,
    keyword_only, var_positional or var_keyword."""

    name: str
    has_default: bool
    kind: str


ANY = (Parameter("args", False, "var_positional"), Parameter("kwargs", False, "var_keyword"))


def parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters of a def or lambda, in order."""
    found = []
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    for index, argument in enumerate(positional):
        only = index < len(arguments.posonlyargs)
        kind = "positional_only" if only else "positional_or_keyword"
        found.append(Parameter(argument.arg, index >= required, kind))
    if arguments.vararg is not None:
        found.append(Parameter(arguments.vararg.arg, False, "var_positional"))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(Parameter(argument.arg, default is not None, "keyword_only"))
    if arguments.kwarg is not None:
        found.append(Parameter(arguments.kwarg.arg, False, "var_keyword"))
    return tuple(found)


def of_module(
    tree: ast.Module, entry: str | None, source: SourceText
) -> tuple[str, tuple[Parameter, ...]]:
    """Name and parameters of the entry: the one named, else the last def, else a last lambda."""
    bound = _top_level(tree)
    if entry:
        if entry not in bound:
            raise RefusedSource(
                f"the source does not define {entry[:60]}",
                hint=near(entry, bound) or f"it defines {', '.join(bound)}"[:200],
            )
        return entry, _parameters_of(bound[entry], bound)
    defs = [name for name, node in bound.items() if isinstance(node, ast.FunctionDef)]
    if defs:
        return defs[-1], _parameters_of(bound[defs[-1]], bound)
    last = trailing_lambda(tree)
    if last is not None:
        return LAMBDA, parameters(last.args)
    functions = [name for name, node in bound.items() if isinstance(node, (ast.Lambda, ast.Call))]
    if functions:
        return functions[-1], _parameters_of(bound[functions[-1]], bound)
    raise refuse_statement(tree, source)


def trailing_lambda(tree: ast.Module) -> ast.Lambda | None:
    """A lambda that stands as the last statement of a module."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Lambda):
        return last.value
    return None


def _top_level(tree: ast.Module) -> dict[str, ast.AST]:
    """What module-level names are bound to, the last binding last."""
    bound: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            bound.pop(node.name, None)
            bound[node.name] = node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    bound.pop(target.id, None)
                    bound[target.id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            bound.pop(node.target.id, None)
            bound[node.target.id] = node.value
    return bound


def _parameters_of(node: ast.AST, bound: dict[str, ast.AST]) -> tuple[Parameter, ...]:
    """Parameters through names and transforms that keep them; anything else takes any."""
    for _ in range(len(bound) + 8):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            return parameters(node.args)
        if isinstance(node, ast.Name) and node.id in bound:
            node = bound[node.id]
        elif isinstance(node, ast.Call) and node.args and _called(node) in KEEPS_PARAMETERS:
            node = node.args[0]
        else:
            break
    return ANY


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def where(tree: ast.Module | ast.Expression, name: str) -> ast.AST:
    """The node that problems of a call as a whole point at."""
    if isinstance(tree, ast.Module):
        return _top_level(tree).get(name, tree.body[-1])
    return tree.body


def formula_arguments(names: list[str], args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The values of a formula's parameters; every one must be given exactly once."""
    listed = f"its parameters are {', '.join(names)}"[:200] if names else "it has no parameters"
    if len(args) > len(names):
        raise InvalidArgument(
            f"the formula takes {len(names)} values, but {len(args)} were given", hint=listed
        )
    values = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise InvalidArgument(
                f"the formula has no parameter {name[:60]}", hint=near(name, names) or listed
            )
        if name in values:
            raise InvalidArgument(f"the formula got two values for {name}")
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise InvalidArgument(
            f"the formula needs a value for {', '.join(missing)}"[:200], hint=listed
        )
    return values
