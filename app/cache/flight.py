"""Single flight: of all who want the same thing at once, one makes it and the others wait.

Within a process they meet in memory; processes and replicas meet at a lease in the store, which
expires soon after its holder dies. With the store down only the process itself is coalesced.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from app.cache.store import Lease, Store
from app.core.errors import Unavailable

LEASE_S = 3.0
RENEW_S = 0.8
WAIT_S = 30.0


class Flights:
    """The flights of one process over one store."""

    def __init__(self, store: Store, *, lease_s: float = LEASE_S, renew_s: float = RENEW_S) -> None:
        self._store = store
        self._lease_s = lease_s
        self._renew_s = renew_s
        self._local: dict[str, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def flight(self, name: str) -> AsyncIterator[bool]:
        """Yield ``True`` to the one who is to make it, ``False`` to others once it has ended.

        Ended does not mean made: the leader may have failed or died. Look again, and when it is
        not there, take another flight.
        """
        ahead = self._local.get(name)
        if ahead is not None:
            await asyncio.wait([ahead])
            yield False
            return
        done = self._local[name] = asyncio.get_running_loop().create_future()
        try:
            async with self._shared(name) as leader:
                yield leader
        finally:
            del self._local[name]
            done.set_result(None)

    @asynccontextmanager
    async def _shared(self, name: str) -> AsyncIterator[bool]:
        alone, lease = False, None
        try:
            lease = await self._acquire(name)
            while lease is None and not await self._store.wait(name, WAIT_S):
                pass
        except Unavailable:
            alone = True
        if lease is None:
            yield alone
            return
        renewing = asyncio.get_running_loop().create_task(self._keep(lease))
        try:
            yield True
        finally:
            renewing.cancel()
            with suppress(Unavailable):
                await asyncio.shield(self._store.release(lease))

    async def _acquire(self, name: str) -> Lease | None:
        """A lease, given back when the caller was cancelled while it was being granted."""
        asking = asyncio.ensure_future(self._store.acquire(name, self._lease_s))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(self._give_back)
            raise

    def _give_back(self, asked: asyncio.Future[Lease | None]) -> None:
        lease = None if asked.cancelled() or asked.exception() else asked.result()
        if lease is not None:
            releasing = asyncio.ensure_future(self._store.release(lease))
            releasing.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _keep(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(self._renew_s)
            # A lease that is lost or cannot be renewed ends single flight, not the work itself.
            with suppress(Unavailable):
                await self._store.renew(lease)
