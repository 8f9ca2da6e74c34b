"""What one verb is: its name, the inputs and options of its own, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.compute.calls.call import Call


@dataclass(frozen=True, slots=True)
class Verb:
    """A computation over a function.

    ``compute`` runs inside the trace: it takes a ``Call`` and returns a tree of arrays.
    ``direction`` is the group of inputs it needs beside ``args``; ``options`` its own fields.
    ``leading`` parameters of the function are scalars that the verb gives itself, before ``args``
    (ode: the time). ``groups`` are further inputs, handed over as they are, with the axis that
    ``vmap`` maps in each; ``meta`` is told of every program of the verb. ``plan`` is made from
    abstract values before the trace and lies in ``Call.plan``. ``gradients`` is the field of the
    result that is in the arguments' own space (cotangents), ``""`` for all of it.
    """

    name: str
    compute: Callable[[Call], Any]
    direction: str | None = None
    options: frozenset[str] = frozenset()
    leading: int = 0
    groups: Mapping[str, int | None] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    plan: Callable[[Call], Any] | None = None
    gradients: str | None = None
