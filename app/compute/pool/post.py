"""A place that a worker must fill, and how long to wait before one that fails is tried again."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.compute.pool.link import Link

HOPELESS = 3
"""Failures in a row after which a pool that has never been ready gives up."""
BACKOFF = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds before a start is tried again, after that many failures in a row."""
SPARE_FAILURES = 4
"""A spare that died at birth is in no hurry: it waits as if it had failed so often."""


@dataclass(eq=False, slots=True)
class Post:
    """A place for a worker: ``device`` is ``None`` for one that only compiles."""

    name: str
    device: int | None
    link: Link | None = None
    restarts: int = 0
    failures: int = field(default=0, repr=False)


def backoff(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return BACKOFF[min(failures, len(BACKOFF) - 1)]
