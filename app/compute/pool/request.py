"""One frame on its way to a worker, and how it can end other than with an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.core.errors import DeadlineExceeded

HINTS = {
    "run": "do less work a call, or leave timeout_s out for the server's own limit; "
    "svd, pinv and lstsq of a matrix that holds an infinity may never end",
    "compile": "make the program smaller: lax.scan or lax.fori_loop in place of unrolled loops",
    "trace": "make the function smaller, or its Python loops shorter",
}
"""What to do instead, by the phase that took too long."""

Reply = tuple[str, Any, list[np.ndarray]]


class WorkerDied(Exception):
    """The worker ended; ``blamed`` where this request was the one running."""

    def __init__(self, *, blamed: bool) -> None:
        super().__init__("the worker ended")
        self.blamed = blamed


class Request:
    """One frame in flight."""

    __slots__ = ("blocks", "future", "limit", "number", "phase", "started")

    def __init__(
        self,
        number: int,
        future: asyncio.Future[Reply],
        limit: float,
        phase: str,
        blocks: Sequence[int] | None,
    ) -> None:
        self.number = number
        self.future = future
        self.limit = limit
        self.phase = phase
        self.blocks = blocks
        self.started = 0.0

    def passed_deadline(self) -> DeadlineExceeded:
        """What is said when the limit is passed."""
        return DeadlineExceeded(
            f"{self.phase}: passed its limit of {self.limit:g} s and was ended",
            hint=HINTS.get(self.phase),
        )
