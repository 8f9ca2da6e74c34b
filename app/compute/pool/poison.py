"""Which programs kill workers: after enough deaths without a success one is refused for a while."""

from __future__ import annotations

import time

from app.core.errors import WorkerLost

REMEMBERED = 1024


class Poison:
    """Deaths by program key, forgotten after a success or ``seconds``."""

    def __init__(self, deaths: int, seconds: float) -> None:
        self._limit = deaths
        self._seconds = seconds
        self._deaths: dict[str, tuple[int, float]] = {}

    def blame(self, key: str) -> None:
        """One more worker died while it ran this."""
        count, _ = self._current(key)
        self._deaths[key] = (count + 1, time.monotonic())
        while len(self._deaths) > REMEMBERED:
            del self._deaths[next(iter(self._deaths))]

    def clear(self, key: str) -> None:
        """It ran: what killed the worker before was not the program."""
        if self._deaths:
            self._deaths.pop(key, None)

    def admit(self, key: str) -> None:
        """Raise ``WorkerLost`` for a program that has killed too many workers."""
        if key not in self._deaths:
            return
        count, last = self._current(key)
        if count >= self._limit:
            left = self._seconds - (time.monotonic() - last)
            raise WorkerLost(
                f"this program has ended {count} workers and is refused for now",
                hint="it may need more memory than a worker has: send less, or work on parts",
                retry_after=max(1.0, left),
            )

    def counts(self) -> dict[str, int]:
        """Deaths by program key that still count."""
        return {key: self._current(key)[0] for key in list(self._deaths) if self._current(key)[0]}

    def refused(self) -> int:
        """How many programs are refused now."""
        return sum(count >= self._limit for count in self.counts().values())

    def _current(self, key: str) -> tuple[int, float]:
        count, last = self._deaths.get(key, (0, 0.0))
        if count and time.monotonic() - last > self._seconds:
            del self._deaths[key]
            return 0, 0.0
        return count, last
