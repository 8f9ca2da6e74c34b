"""The check of a syntax tree before anything runs: only forms and names that the language has pass.

The walk is iterative and bounded, and it skips annotations, which are never evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from app.compute.language import denials
from app.compute.language.limits import Limits
from app.compute.language.text import SourceText
from app.core.errors import LimitExceeded, ProblemError, RefusedSource

RECORD_ATTRIBUTES = ("_replace", "_asdict", "_fields")

UNREAD_FIELDS = ("annotation", "returns", "type_comment", "ctx")

DEFAULT_FORMS = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.UnaryOp,
    ast.BinOp,
    ast.Compare,
    ast.BoolOp,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Subscript,
    ast.Lambda,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.boolop,
)


def check_tree(tree: ast.AST, source: SourceText, limits: Limits) -> None:
    """Raise for the first node, in source order, that the language does not have."""
    errors: list[tuple[tuple[int, int], ProblemError]] = []
    for count, (node, depth, parent) in enumerate(_walk(tree), 1):
        if count > limits.syntax_nodes:
            raise LimitExceeded(
                f"the source has more than {limits.syntax_nodes} syntax nodes",
                line=1,
                column=1,
                hint="pass data as arguments, not in the source",
            )
        if depth > limits.syntax_depth:
            error = LimitExceeded(
                f"the source is nested deeper than {limits.syntax_depth}",
                hint="name the inner parts and use the names",
            )
            error.line, error.column = source.position(node)
            raise error
        refused = _refusal(node, parent)
        if refused is not None:
            refused.line, refused.column = source.position(node if _placed(node) else parent)
            errors.append(((refused.line or 0, refused.column or 0), refused))
    if errors:
        raise min(errors, key=lambda found: found[0])[1]


def _placed(node: ast.AST) -> bool:
    return hasattr(node, "lineno")


def _walk(tree: ast.AST) -> Iterator[tuple[ast.AST, int, ast.AST]]:
    """Nodes with depth and parent. A left operand and an elif cost no depth: they are loops."""
    stack: list[tuple[ast.AST, int, ast.AST]] = [(tree, 0, tree)]
    while stack:
        node, depth, parent = stack.pop()
        yield node, depth, parent
        for name, value in ast.iter_fields(node):
            if name in UNREAD_FIELDS:
                continue
            flat = (isinstance(node, ast.BinOp) and name == "left") or (
                isinstance(node, ast.If) and name == "orelse" and len(value) == 1
            )
            below = depth if flat else depth + 1
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    stack.append((child, below, node))


def _refusal(node: ast.AST, parent: ast.AST) -> ProblemError | None:
    denied = denials.of_statement(node)
    if denied is not None:
        return RefusedSource(f"{denied[0]} is not allowed", hint=denied[1])
    for name in _names(node):
        if name.startswith("__") and not (name == "__call__" and isinstance(parent, ast.ClassDef)):
            return RefusedSource(
                f"the name {name[:60]} is not allowed: names with two leading underscores are "
                "Python's own",
                hint="choose another name",
            )
    check = CHECKS.get(type(node))
    return check(node, parent) if check is not None else None


def _names(node: ast.AST) -> Iterator[str]:
    for field in ("id", "arg", "name", "asname", "attr"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield value
    if isinstance(node, ast.Nonlocal):
        yield from node.names


def _check_attribute(node: ast.Attribute, parent: ast.AST) -> ProblemError | None:
    if node.attr.startswith("_") and node.attr not in RECORD_ATTRIBUTES:
        return RefusedSource(
            f"the attribute {node.attr[:60]} is not allowed: it is internal to the host"
        )
    if isinstance(node.ctx, ast.Store):
        return RefusedSource(
            "assigning to an attribute is not allowed: values do not change",
            hint=f"make a new record: p = p._replace({node.attr}=…)",
        )
    return None


def _check_keyword(node: ast.keyword, parent: ast.AST) -> ProblemError | None:
    if node.arg is not None and node.arg.startswith("_"):
        return RefusedSource(f"the keyword {node.arg[:60]} is not allowed: it is internal")
    return None


def _check_constant(node: ast.Constant, parent: ast.AST) -> ProblemError | None:
    if type(node.value) is bytes:
        return RefusedSource("bytes are not allowed", hint="pass data as an argument")
    return None


def _check_generator(node: ast.GeneratorExp, parent: ast.AST) -> ProblemError | None:
    if isinstance(parent, (ast.Call, ast.Starred)):
        return None
    return RefusedSource(
        "a generator as a value is not allowed", hint="write a list: [… for … in …]"
    )


def _check_comprehension(node: ast.comprehension, parent: ast.AST) -> ProblemError | None:
    if node.is_async:
        return RefusedSource("async for is not allowed", hint="write a plain for")
    return None


def _check_formatted(node: ast.FormattedValue, parent: ast.AST) -> ProblemError | None:
    if node.conversion != -1 or node.format_spec is not None:
        return RefusedSource(
            "a conversion or format in an f-string is not allowed", hint="write plain {name}"
        )
    return None


def _check_import(node: ast.ImportFrom, parent: ast.AST) -> ProblemError | None:
    if node.level:
        return RefusedSource("a relative import is not allowed", hint="import jax.numpy as jnp")
    if any(alias.name == "*" for alias in node.names):
        return RefusedSource(
            "import * is not allowed",
            hint="names of jax.numpy may be written bare without any import",
        )
    return None


def _check_arguments(node: ast.arguments, parent: ast.AST) -> ProblemError | None:
    for default in (*node.defaults, *node.kw_defaults):
        stack: list[ast.AST] = [default] if default is not None else []
        while stack:
            inner = stack.pop()
            if isinstance(inner, DEFAULT_FORMS):
                lazy = isinstance(inner, ast.Lambda)
                stack.extend(() if lazy else _unread(inner))
            elif isinstance(inner, ast.AST):
                return RefusedSource(
                    "a call in a default value is not allowed: defaults are plain values",
                    hint="name the value above the def, or use None and make it in the body",
                )
    return None


def _unread(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.expr_context, ast.Slice)):
            yield child


def _check_raise(node: ast.Raise, parent: ast.AST) -> ProblemError | None:
    if node.exc is None or node.cause is not None:
        return RefusedSource(
            "raise without an error, or with from, is not allowed",
            hint='write raise ValueError("…")',
        )
    return None


CHECKS = {
    ast.Attribute: _check_attribute,
    ast.keyword: _check_keyword,
    ast.Constant: _check_constant,
    ast.GeneratorExp: _check_generator,
    ast.comprehension: _check_comprehension,
    ast.FormattedValue: _check_formatted,
    ast.ImportFrom: _check_import,
    ast.arguments: _check_arguments,
    ast.Raise: _check_raise,
}
