"""Descriptions of registered functions, read from their own signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from app.compute.language.values import Builtin

LONGEST = 160
REPR = re.compile(r"<[^<>]{0,120}>")
MARKUP = re.compile(r":\w{1,20}:`~?([^`<]{1,120})`|``([^`]{1,120})``")


def describe(builtins: Iterable[Builtin]) -> list[dict[str, str]]:
    """One entry a function: ``name``, ``signature`` as text, ``summary`` in one line."""
    return [
        {
            "name": builtin.name,
            "signature": signature_of(builtin),
            "summary": summary_of(builtin),
        }
        for builtin in builtins
    ]


def signature_of(builtin: Builtin) -> str:
    """Parameters with defaults and without annotations, as in ``(x, axis=None)``."""
    try:
        signature = inspect.signature(builtin.function)
    except (TypeError, ValueError):
        return "(...)"
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if not parameter.name.startswith("_")
    ]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return REPR.sub("…", text)


def summary_of(builtin: Builtin) -> str:
    """The first sentence of the docstring, without markup."""
    paragraph = (inspect.getdoc(builtin.function) or "").strip().partition("\n\n")[0]
    line = MARKUP.sub(lambda found: found.group(1) or found.group(2), " ".join(paragraph.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
