"""What one verb is: its name, the inputs and options of its own, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.compute.call import Call


@dataclass(frozen=True, slots=True)
class Verb:
    """A computation over a function.

    ``compute`` runs inside the trace: it takes a ``Call`` and returns a tree of arrays.
    ``direction`` is the group of inputs it needs beside ``args``; ``options`` its own fields.
    """

    name: str
    compute: Callable[[Call], Any]
    direction: str | None = None
    options: frozenset[str] = frozenset()
