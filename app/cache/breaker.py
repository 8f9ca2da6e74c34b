"""A circuit breaker: after a failure nobody tries again until a probe in the background succeeds.

Callers meet ``Unavailable`` in microseconds instead of a timeout each, and a store that comes back
is not met by all of them at once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from app.core import logging
from app.core.errors import Unavailable

FIRST_PROBE_S = 0.05
LAST_PROBE_S = 2.0


class Breaker:
    """Closed while the store answers; open from a failure until ``probe`` returns."""

    def __init__(self, kind: str, probe: Callable[[], Awaitable[None]]) -> None:
        self._kind = kind
        self._probe = probe
        self._probing: asyncio.Task[None] | None = None
        self._since: float | None = None
        self._reason: str | None = None
        self._closed = False
        self._trips = 0
        self._log = logging.get("cache")

    @property
    def healthy(self) -> bool:
        """Whether operations are let through."""
        return self._since is None and not self._closed

    def check(self) -> None:
        """Raise ``Unavailable`` unless operations are let through."""
        if not self.healthy:
            raise self.unavailable()

    def unavailable(self) -> Unavailable:
        """The error that clients of this store meet."""
        return Unavailable("The store does not answer; try again soon.", retry_after=LAST_PROBE_S)

    def trip(self, error: BaseException) -> None:
        """Open after a failure, and start to probe. Needs a running event loop."""
        if not self.healthy:
            return
        self._since = time.time()
        self._reason = f"{type(error).__name__}: {error}"[:200]
        self._trips += 1
        self._log.warning("store is down", store=self._kind, reason=self._reason)
        self._probing = asyncio.get_running_loop().create_task(self._until_it_answers())

    async def _until_it_answers(self) -> None:
        delay = FIRST_PROBE_S
        while True:
            await asyncio.sleep(delay * random.uniform(0.75, 1.25))
            try:
                await self._probe()
            except Exception as error:  # noqa: BLE001 - whatever a probe meets, it goes on probing
                self._reason = f"{type(error).__name__}: {error}"[:200]
                delay = min(2 * delay, LAST_PROBE_S)
            else:
                break
        down_s = time.time() - (self._since or 0.0)
        self._since = self._reason = None
        self._log.info("store is back", store=self._kind, down_s=round(down_s, 3))

    def status(self) -> dict[str, Any]:
        """What readiness shows: the reason is for operators and names no secret."""
        return {
            "kind": self._kind,
            "state": "ok" if self.healthy else "degraded",
            "since": self._since,
            "reason": self._reason,
            "trips": self._trips,
        }

    async def close(self) -> None:
        """Let nothing through any more."""
        self._closed = True
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])
