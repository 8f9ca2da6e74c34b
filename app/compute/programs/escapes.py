"""Finds values of an inner trace that the source carried out of it, and refuses them.

JAX takes such a tracer for a constant, and a constant becomes one more input before all others:
the program would then read its arguments from the wrong places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.core import Tracer
from jax.extend import core as jex

from app.compute.programs import bounds
from app.core.errors import RefusedSource


def refuse_escaped(closed: jex.ClosedJaxpr) -> None:
    """Raise ``RefusedSource`` where a program traced under no other holds a tracer."""
    if any(isinstance(value, Tracer) for value in _constants(closed)):
        raise RefusedSource(
            "a value is used outside the transformed function that made it",
            line=_line(closed),
            hint="return it from the function instead of appending it to an outer list",
        )


def _constants(closed: jex.ClosedJaxpr) -> Iterator[Any]:
    yield from closed.consts
    for equation, _ in bounds.equations(closed.jaxpr):
        for value in equation.params.values():
            for item in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(item, jex.ClosedJaxpr):
                    yield from item.consts


def _line(closed: jex.ClosedJaxpr) -> int | None:
    """The source line of the first operation on an escaped value; ``None`` if there is none."""
    pairs = zip(closed.jaxpr.constvars, closed.consts, strict=True)
    escaped = {variable for variable, value in pairs if isinstance(value, Tracer)}
    for equation, scope in bounds.equations(closed.jaxpr):
        if any(isinstance(each, jex.Var) and each in escaped for each in equation.invars):
            return bounds.line_of(scope)
    return None
