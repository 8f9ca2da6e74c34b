"""The right to work on one run: its lease renewed, and an ear for those who want it to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Literal, TypeVar

from app.cache.store import Lease
from app.core.errors import Unavailable
from app.services.runs.journal import Journal

T = TypeVar("T")
Reason = Literal["cancelled", "drained", "lost"]

LISTEN_S = 30.0
AWAY_S = 0.5
RENEWALS = 3
"""How often a lease is renewed within its time to live."""


class Stopped(Exception):
    """The work was stopped: a client cancelled it, the server drains, or the lease was lost."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


class Hold:
    """Used as ``async with``: keeps the lease while inside, releases it on the way out."""

    def __init__(self, journal: Journal, run_id: str, lease: Lease) -> None:
        self.lease = lease
        self._journal = journal
        self._run_id = run_id
        self.reason: Reason | None = None
        self._work: asyncio.Task[Any] | None = None
        self._helpers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Hold:
        loop = asyncio.get_running_loop()
        self._helpers = [loop.create_task(self._renew()), loop.create_task(self._listen())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for helper in self._helpers:
            helper.cancel()
        await asyncio.gather(*self._helpers, return_exceptions=True)
        with suppress(Unavailable):
            await asyncio.shield(self._journal.store.release(self.lease))

    async def work(self, doing: Coroutine[Any, Any, T]) -> T:
        """What ``doing`` gives; raises ``Stopped`` where it was stopped before it could."""
        if self.reason is not None:
            doing.close()
            raise Stopped(self.reason)
        self._work = task = asyncio.get_running_loop().create_task(doing)
        try:
            return await task
        except asyncio.CancelledError:
            if self.reason is None:
                raise
            raise Stopped(self.reason) from None
        finally:
            self._work = None

    def stop(self, reason: Reason) -> None:
        """Stop the work, if it is not over."""
        if self.reason is None:
            self.reason = reason
            if self._work is not None:
                self._work.cancel()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.lease.ttl / RENEWALS)
            # A store that is away does not end the work: whether the lease was lost is not known.
            with suppress(Unavailable):
                if not await self._journal.store.renew(self.lease):
                    self.stop("lost")
                    return

    async def _listen(self) -> None:
        while True:
            try:
                if await self._journal.wait_for_cancel(self._run_id, LISTEN_S):
                    self.stop("cancelled")
                    return
            except Unavailable:
                await asyncio.sleep(AWAY_S)
