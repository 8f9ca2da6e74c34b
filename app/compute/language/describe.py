"""Values in words: for messages, and for the text of f-strings."""

from __future__ import annotations

from typing import Any

from app.compute.language.records import Record
from app.compute.language.values import Builtin, Closure, DType, Module, Native

NUMBERS = (bool, int, float, complex)
PLAIN = {
    type(None): "None",
    type(...): "...",
    bool: "True or False",
    int: "an integer",
    float: "a number",
    complex: "a complex number",
    str: "a text",
    list: "a list",
    tuple: "a tuple",
    dict: "a dict",
    range: "a range",
    slice: "a slice",
}
HANDLES = (Module, Builtin, Native, Closure, DType)


def describe(value: Any) -> str:
    """What a value is, in a client's words and without its data."""
    kind = type(value)
    if kind in PLAIN:
        return PLAIN[kind]
    if kind is Record:
        return f"a record {value.type.name}"
    if kind in HANDLES:
        return str(value.name)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of shape {tuple(value.shape)} and type {value.dtype}"
    return "a function" if kind.__name__ != "AtPlace" else "x.at[…]"


def text_of(value: Any) -> str:
    """A static value as text; arrays are named by their shape and type."""
    kind = type(value)
    if kind in (*NUMBERS, str) or value is None:
        return str(value)
    if kind is tuple and all(type(item) in (*NUMBERS, str) for item in value[:32]):
        return str(value[:32])
    return f"<{describe(value)}>"
