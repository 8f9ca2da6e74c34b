"""What a pool is told: how many workers, which limits, which walls. Sizes are bytes, times seconds.

``engine`` names the class that worker processes build; it is never imported on this side.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

MIB, GIB = 1 << 20, 1 << 30

MEASURES = (
    "memory",
    "files",
    "core",
    "privileges",
    "capabilities",
    "network",
    "landlock",
    "seccomp",
)
"""Every measure of the process wall, by name; see ``app.compute.sandbox``."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How a pool is built. ``compile_workers`` of ``None``: one on two cores or fewer, else two."""

    platform: Literal["cpu", "cuda", "tpu"] = "cpu"
    devices: int = 1
    compile_workers: int | None = None
    spare: bool = True
    engine: str = "app.compute.engine:Engine"
    engine_limits: Mapping[str, Any] = field(default_factory=dict)

    sandbox: tuple[str, ...] = MEASURES
    memory_bytes: int = 6 * GIB
    program_bytes: int = 512 * MIB
    array_bytes: int = 1 * GIB
    shared_bytes: int = 1 * GIB
    lowerings: int = 64

    queue_limit: int = 256
    window: int = 8

    start_s: float = 60.0
    load_s: float = 30.0
    trace_s: float = 20.0
    compile_s: float = 60.0
    cancel_s: float = 0.3
    poison_deaths: int = 3
    poison_s: float = 60.0

    def compilers(self) -> int:
        """How many compile workers to keep; none where a device's own worker compiles."""
        if self.compiles_own():
            return 0
        if self.compile_workers is not None:
            return self.compile_workers
        return 1 if (os.cpu_count() or 1) <= 2 else 2

    def compiles_own(self) -> bool:
        """Whether two processes cannot share a device, so that its own worker compiles."""
        return self.platform == "tpu"

    def worker_wire(self) -> dict[str, Any]:
        """The part that worker processes need, as plain data."""
        names = (
            "platform engine engine_limits sandbox memory_bytes program_bytes array_bytes "
            "shared_bytes lowerings"
        ).split()
        everything = asdict(self)
        return {name: everything[name] for name in names}
