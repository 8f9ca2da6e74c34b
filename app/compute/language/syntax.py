"""From text to a syntax tree, which is all that happens to client text: no code object is made."""

from __future__ import annotations

import ast
import re
import warnings

from app.compute.language.text import SourceText
from app.core.errors import LimitExceeded, RefusedSource

STATEMENT = re.compile(r"^(?:@|(?:def|class|import|from|async)\b)", re.MULTILINE)


def is_module(source: SourceText) -> bool:
    """Whether the text can only be a module: a line of it starts with a statement's keyword."""
    return STATEMENT.search(source.text) is not None


def parse_expression(source: SourceText) -> ast.Expression | None:
    """The tree of one expression, which may span lines, or None where it is not one."""
    for text, shift in ((source.text.strip(), 0), (f"(\n{source.text}\n)", -1)):
        try:
            tree = _tree(text, "eval")
        except SyntaxError:
            if "\n" not in text:
                return None
            continue
        if shift:
            ast.increment_lineno(tree, shift)
        else:
            blank = len(source.text) - len(source.text.lstrip())
            ast.increment_lineno(tree, source.text.count("\n", 0, blank))
        return tree if isinstance(tree, ast.Expression) else None
    return None


def parse_module(source: SourceText) -> ast.Module:
    """The tree of a module; raise ``RefusedSource`` where Python's grammar refuses it."""
    try:
        tree = _tree(source.text, "exec")
    except SyntaxError as error:
        line = error.lineno or 1
        row = source.lines[line - 1] if line <= len(source.lines) else ""
        offset = len(row[: max((error.offset or 1) - 1, 0)].encode())
        line, column = source.locate(line, offset)
        equation = "cannot assign to function call" in str(error.msg)
        raise RefusedSource(
            f"this is not Python: {str(error.msg).partition(': value has')[0]}",
            line=line,
            column=column,
            hint="send the right-hand side alone, as in x**2"
            if equation
            else "send a formula such as x**2 + sin(y), a lambda, or one def or more",
        ) from None
    assert isinstance(tree, ast.Module)
    return tree


def _tree(text: str, mode: str) -> ast.AST:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode=mode)
    except (RecursionError, MemoryError):
        raise LimitExceeded(
            "the source is nested too deeply",
            line=1,
            column=1,
            hint="name the inner parts and use the names",
        ) from None
    except ValueError as error:
        if isinstance(error, SyntaxError):
            raise
        raise RefusedSource(f"the source cannot be read: {error}"[:200]) from None
