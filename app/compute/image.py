"""What the pool is given: compiled programs and arrays that may lie on a device already.

Plain data on the API side of the process border; nothing here imports JAX.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from app.compute.spec import ProgramSpec


@dataclass(frozen=True, slots=True)
class ProgramImage:
    """A program ready for any device worker.

    ``blob`` is the serialised executable, or ``None`` where the program cannot be serialised: a
    worker then compiles ``spec`` itself. A blob whose ``origin`` is the store is first loaded in
    a process whose crash costs nothing.
    """

    key: str
    blob: bytes | None
    meta: Mapping[str, Any]
    spec: ProgramSpec
    origin: Literal["compiled", "store"] = "compiled"


@dataclass(frozen=True, slots=True)
class Resident:
    """An array by its id; its value is sent only to a device that does not hold it."""

    id: str
    value: np.ndarray


class ImageRejected(Exception):
    """The blob does not load on this machine (another CPU, another version): compile it anew."""
