"""The pool as everything above it sees it: one interface, whatever runs the workers.

Failures are ``ProblemError``s; ``ImageRejected`` alone is for the caller, who compiles anew.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from app.compute.image import ProgramImage, Resident
from app.compute.spec import ProgramSpec


@dataclass(slots=True)
class RunResult:
    """What a run gave. Large ``leaves`` are views of shared memory: read-only by agreement.

    ``loaded`` is false where the program was in the worker's memory. ``timings`` are seconds:
    queue, transfer, load, execute.
    """

    leaves: list[np.ndarray]
    device: str
    loaded: bool
    timings: dict[str, float]


@dataclass(slots=True)
class Lowering:
    """A program lowered in one worker, which ``token`` names. ``compile`` completes ``meta``."""

    l2: str
    meta: dict[str, Any]
    spec: ProgramSpec
    token: tuple[int, int]


class Pool(Protocol):
    """Workers that compile and run programs."""

    async def start(self) -> None:
        """Start every worker and wait until they are ready."""
        ...

    async def stop(self, grace: float) -> None:
        """Refuse new work, let what runs finish for ``grace`` seconds, then end every process."""
        ...

    def run(
        self,
        image: ProgramImage,
        leaves: Sequence[np.ndarray | Resident],
        *,
        deadline_s: float,
        device: str | None = None,
        background: bool = False,
    ) -> Coroutine[Any, Any, RunResult]:
        """Run a program; ``device`` pins it to one by id, ``background`` work leaves one free."""
        ...

    async def lower(self, spec: ProgramSpec) -> Lowering:
        """Trace and lower in a compile worker."""
        ...

    async def compile(self, lowering: Lowering) -> bytes | None:
        """Compile what was lowered; ``None`` where the program cannot be serialised."""
        ...

    async def discard(self, lowering: Lowering) -> None:
        """Forget what was lowered."""
        ...

    async def ask(
        self,
        op: str,
        payload: Mapping[str, Any],
        leaves: Sequence[np.ndarray] = (),
        *,
        deadline_s: float,
    ) -> dict[str, Any]:
        """One of check, abstract_eval, ir, diagnose, catalogue, answered by a compile worker."""
        ...

    def devices(self) -> list[dict[str, Any]]:
        """Every device: id, kind, state, memory, load, residents, compiles_own."""
        ...

    def status(self) -> dict[str, Any]:
        """Readiness, the sandbox level reached, workers, counters."""
        ...
