"""What is said of a field that does not fit its model: what it takes, and what it was given."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from app.core.codec.numbers import pointer, said
from app.core.errors import InvalidArgument

_TAKES: Mapping[str, str] = {
    "bool_type": "true or false",
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
    "none_required": "null",
}
"""What a field takes, by pydantic's name of the failed check."""

_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}

_EXAMPLES: Mapping[str, str] = {
    "function": 'Like {"function": "lambda x: x**2", "args": [3.0]}',
    "wrt": 'A position or a name, or a list of them: 0, "x" or ["x", "y"]',
    "static": 'Values fixed when compiling, by parameter name: {"n": 3}',
    "vmap": 'Like {"in_axes": [null, 0], "out_axes": 0}',
    "in_axes": "One axis for all arguments, or one an argument: [null, 0]",
    "out_axes": "One axis for the whole result, like 0",
    "output": 'Like {"encoding": "base64"} or {"layout": "csr"}',
    "timeout_s": "Seconds, like 2.5",
}


def refusal(model: type[BaseModel], error: ValidationError) -> InvalidArgument:
    """The first field that does not fit, in the words of the API."""
    errors: list[Any] = [*error.errors(include_url=False)]
    field = _path(errors[0]["loc"])[:1]
    # Of a union's branches, the one that got furthest into the value is what was meant.
    first = max((e for e in errors if _path(e["loc"])[:1] == field), key=_depth)
    path = _path(first["loc"])
    name, where = str(path[-1]) if path else "", pointer(path)
    if first["type"] == "extra_forbidden":
        hint = _known(model, path)
        return InvalidArgument(f"No field {name[:60]!r} here", pointer=where, hint=hint)
    if first["type"] == "missing":
        hint = _EXAMPLES.get(name, "What it means is told at /docs")
        return InvalidArgument(f"The field {name!r} is missing", pointer=where, hint=hint)
    if first["type"] == "value_error":
        return InvalidArgument(f"{name}: {first['ctx']['error']}", pointer=where)
    taken = list(dict.fromkeys(_takes(each) for each in errors if _path(each["loc"]) == path))
    hint = _EXAMPLES.get(str(field[0]))
    if first["input"] is None and name != "function":
        hint = "Leave the field out for its default"
    label = name if len(path) == 1 else where[1:].replace("/", ".")
    detail = f"{label} takes {_listed(taken)}, not {_given(first['input'])}"
    return InvalidArgument(detail, pointer=where, hint=hint)


def _depth(error: Any) -> int:
    return len(_path(error["loc"]))


def _given(value: Any) -> str:
    return f'"{value[:40]}"' if isinstance(value, str) else said(value)


def _takes(error: Any) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        return str(context["expected"]).replace("'", '"')
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{words} {context[name]}"
    return _TAKES.get(kind, str(error["msg"]).lower())


def _path(location: Sequence[int | str]) -> tuple[int | str, ...]:
    """A location without the branches of unions that pydantic adds: a path in the document."""
    return tuple(step for step in location if not _names_a_type(step))


def _names_a_type(step: int | str) -> bool:
    plain = {"int", "str", "float", "bool"}
    return isinstance(step, str) and (
        step in plain or "[" in step or step.startswith("constrained-")
    )


def _known(model: type[BaseModel], path: tuple[int | str, ...]) -> str:
    """The nearest field to an unknown one, else all that its object has."""
    holder = _holder(model, path[:-1])
    known = list(holder.model_fields)
    if "function" in known:
        known.insert(known.index("function") + 1, "args")
    near = difflib.get_close_matches(str(path[-1]), known, 1)
    return f"Did you mean {near[0]}?" if near else "Known fields: " + ", ".join(known)


def _holder(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    for step in path:
        field = model.model_fields.get(str(step))
        options = () if field is None else (field.annotation, *get_args(field.annotation))
        classes = (each for each in options if isinstance(each, type))
        model = next((each for each in classes if issubclass(each, BaseModel)), model)
    return model


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
