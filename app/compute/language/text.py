"""Source as text, before any parser sees it: bounds, common indentation, and positions.

Everything here is linear in the source. A ``SourceText`` remembers what was taken out (common
indentation) or put in (``**`` for ``^`` in formulas), so that lines and columns in messages are
those of the text that the client sent.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from app.compute.language.limits import Limits
from app.core.errors import LimitExceeded, RefusedSource

OPENING, CLOSING, QUOTES = "([{", ")]}", "\"'"
ALLOWED_CONTROL = "\n\t"
TOKEN = re.compile(r"""\\.|\"{3}|'{3}|["'#\n()\[\]{}]""", re.DOTALL)
"""What can open or close a bracket, a string or a comment; each match takes constant time."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text to parse and how its positions map back to the client's.

    ``indent`` columns were taken from each line; ``carets`` holds, for each line, the columns
    (0-based, in the rewritten line) where ``**`` stands for ``^``.
    """

    text: str
    indent: int = 0
    carets: tuple[tuple[int, ...], ...] = ()
    lines: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.text.split("\n")))

    def position(self, node: ast.AST | None) -> tuple[int | None, int | None]:
        """Line and column of a syntax node in the client's text, both from 1."""
        line = getattr(node, "lineno", None)
        if line is None:
            return None, None
        return self.locate(line, getattr(node, "col_offset", 0))

    def locate(self, line: int, offset: int) -> tuple[int, int]:
        """Line and column from a parser's line (from 1) and offset (from 0, UTF-8 bytes)."""
        row = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        column = len(row.encode()[:offset].decode(errors="ignore"))
        added = self.carets[line - 1] if 0 < line <= len(self.carets) else ()
        column -= sum(1 for caret in added if caret < column)
        return line, column + self.indent + 1

    def with_powers(self) -> SourceText:
        """The same text where ``^`` means power.

        It is rewritten as text: a rewritten tree would keep the low precedence of ``^`` and read
        ``-x^2/2`` as ``(-x)**(2/2)``.
        """
        carets = []
        for line in self.lines:
            found = [column for column, character in enumerate(line) if character == "^"]
            carets.append(tuple(column + index for index, column in enumerate(found)))
        return SourceText(self.text.replace("^", "**"), self.indent, tuple(carets))


def read_source(source: object, limits: Limits) -> SourceText:
    """Check the bounds that hold for text and take away common indentation."""
    if not isinstance(source, str):
        raise RefusedSource("the source of a function must be text")
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    _check_size(text, limits)
    _check_characters(text)
    text, indent = _dedented(text.rstrip())
    _check_brackets(SourceText(text, indent), limits)
    if not text.strip():
        raise RefusedSource(
            "the source is empty", hint="send a formula such as x**2 + sin(y), a lambda or a def"
        )
    return SourceText(text, indent)


def _check_size(text: str, limits: Limits) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise RefusedSource("the source holds a lone surrogate", line=line, column=1) from None
    if size > limits.source_bytes:
        raise LimitExceeded(
            f"the source has {size} bytes; at most {limits.source_bytes} are read",
            hint="pass data as arguments, not in the source",
        )


def _check_characters(text: str) -> None:
    if text.isprintable():
        return
    for number, line in enumerate(text.split("\n"), 1):
        for column, character in enumerate(line, 1):
            if character < " " and character not in ALLOWED_CONTROL:
                raise RefusedSource(
                    f"the source holds the control character U+{ord(character):04X}",
                    line=number,
                    column=column,
                    hint="remove it",
                )


def _dedented(text: str) -> tuple[str, int]:
    lines = text.split("\n")
    written = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    common = _common_start(written)
    if not common:
        return text, 0
    return "\n".join(line.removeprefix(common) for line in lines), len(common)


def _common_start(texts: list[str]) -> str:
    """The longest text that all of ``texts`` start with."""
    first, last = min(texts, default=""), max(texts, default="")
    for index, character in enumerate(first):
        if last[index] != character:
            return first[:index]
    return first


def _check_brackets(source: SourceText, limits: Limits) -> None:
    """Bound the depth of brackets outside strings and comments, in one pass."""
    depth = 0
    inside = ""
    for token in TOKEN.finditer(source.text):
        mark = token.group()
        if inside == "#":
            inside = "" if mark == "\n" else inside
        elif inside:
            ended = mark == inside or (mark == "\n" and len(inside) == 1)
            inside = "" if ended else inside
        elif mark == "#" or mark[0] in QUOTES:
            inside = mark
        elif mark in OPENING:
            depth += 1
            if depth > limits.bracket_depth:
                raise _too_deep(source, token.start(), limits)
        elif mark in CLOSING:
            depth = max(0, depth - 1)


def _too_deep(source: SourceText, start: int, limits: Limits) -> LimitExceeded:
    line = source.text.count("\n", 0, start) + 1
    column = start - source.text.rfind("\n", 0, start) + source.indent
    return LimitExceeded(
        f"brackets are nested deeper than {limits.bracket_depth}",
        line=line,
        column=column,
        hint="name the inner parts and use the names",
    )
