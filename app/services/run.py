"""Runs as clients see them: begun, looked at, listed, listened to, cancelled.

What is said of a run comes from the store, so that any process of any replica answers alike.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from typing import Any

from app.core.codec.calls import encode_body
from app.core.codec.documents import Media, dump
from app.core.codec.offload import Offload
from app.core.errors import Conflict, NotFound
from app.core.ids import is_id
from app.services.runs import packing
from app.services.runs.feed import Feeds, Told
from app.services.runs.journal import OFF_LOOP_BYTES, Journal
from app.services.runs.packing import Request, Result
from app.services.runs.queue import FairQueue
from app.services.runs.run import FINAL, Client, Run, Status
from app.services.runs.runner import Runner
from app.services.runs.scout import Scout

SCANNED = 100
MOST_SCANS = 20
CANCEL_S = 2.0
TOLD_BYTES = 64 << 10
"""Results of more bytes are not told with their event, only where to fetch them."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list: of any of these statuses and verbs; all where there are none."""

    statuses: Collection[Status] = ()
    verbs: Collection[str] = ()


class RunService:
    """The runs that one client may see, and the machinery that does them."""

    def __init__(
        self,
        journal: Journal,
        queue: FairQueue,
        runner: Runner,
        scout: Scout,
        codec: Offload,
        limit_s: float,
    ) -> None:
        self._journal = journal
        self._queue = queue
        self._runner = runner
        self._scout = scout
        self._codec = codec
        self._limit_s = limit_s
        self._feeds = Feeds(journal, self._told)

    def start(self) -> None:
        """Begin to work, and to take over what others left behind."""
        self._runner.start()
        self._scout.start()

    def drain(self) -> None:
        """From the first signal on: give runs back, let listeners go."""
        self._runner.drain()
        self._feeds.drain()

    async def stop(self) -> None:
        """Give back what is left, so that others take it at once."""
        self.drain()
        await self._runner.stop()
        await self._scout.stop()

    def status(self) -> dict[str, int]:
        """How many runs wait here, how many are worked on, and how many listeners there are."""
        return {
            "queued": len(self._queue),
            "running": len(self._runner),
            "listeners": len(self._feeds),
        }

    def ended(self) -> dict[str, int]:
        """How many runs ended here, by status, since this process began."""
        return {status: self._runner.ended[status] for status in sorted(FINAL)}

    async def submit(
        self, verb: str, request: Request, client: Client, key: str | None = None
    ) -> Run:
        """Begin a run; with an idempotency key, the one that this key began before.

        Raise ``Conflict`` where the key stands for another request, ``TooManyRequests`` where too
        many runs wait, ``Unavailable`` while the store is away.
        """
        options = replace(request.options, ceiling_s=self._limit_s, background=True)
        request = replace(request, options=options)
        content = await self._packed(request)
        run = Run.new(verb, client)
        if key is not None:
            known = await self._claim(key, verb, content, run)
            if known.id != run.id and (before := await self._journal.load(known.id)) is not None:
                return before
            run = known
        self._queue.admit(client.name)
        await self._scout.settle()
        if await self._journal.create(run, content, self._scout.home):
            self._queue.put(client.name, run.id)
        return run

    async def _packed(self, request: Request) -> bytes:
        if packing.weight(request.leaves) < OFF_LOOP_BYTES:
            return packing.pack_request(request)
        return await asyncio.to_thread(packing.pack_request, request)

    async def _claim(self, key: str, verb: str, content: bytes, run: Run) -> Run:
        named = f"{run.tenant or ''}\n{key}".encode()
        name = hashlib.sha256(named).hexdigest()
        digest = hashlib.sha256(verb.encode() + b"\n" + content).hexdigest()
        bound, was = await self._journal.claim_key(name, run.id, digest)
        if was != digest:
            raise Conflict(
                "This Idempotency-Key was used for another request",
                hint="Send a new key, or the very same request",
            )
        return replace(run, id=bound)

    async def get(self, run_id: str, client: Client) -> Run:
        """The run under an id; ``NotFound`` where there is none that this client may see."""
        run = await self._journal.load(run_id) if is_id("run", run_id) else None
        if run is None or run.tenant not in (None, client.tenant):
            raise NotFound(
                f"No run {run_id[:60]!r} is kept here",
                hint="Runs are forgotten some time after they ended",
            )
        return run

    async def list(
        self, wanted: RunFilter, client: Client, after: str | None, limit: int
    ) -> tuple[list[Run], str | None]:
        """A page of runs, the latest first, and the id after which the next page begins."""
        found: list[Run] = []
        for _ in range(MOST_SCANS):
            page = await self._journal.scan(after, SCANNED)
            for run_id in page.keys:
                run = await self._journal.load(run_id)
                after = run_id
                if run is not None and _fits(run, wanted, client):
                    found.append(run)
                    if len(found) == limit:
                        return found, after
            after = page.cursor
            if after is None:
                break
        return found, after

    async def cancel(self, run_id: str, client: Client) -> Run:
        """End a run wherever it is; the run as it is then, unchanged where it had ended."""
        run = await self.get(run_id, client)
        if run.is_final:
            return run
        if not await self._cancel_waiting(run):
            await self._journal.ask_to_cancel(run_id)
            await self.wait(run_id, CANCEL_S)
        return await self.get(run_id, client)

    async def _cancel_waiting(self, run: Run) -> bool:
        """Cancel a run that nobody works on; ``False`` where somebody does."""
        lease = await self._journal.acquire(run.id, self._scout.lease_s)
        if lease is None:
            return False
        try:
            now = await self._journal.load(run.id)
            if now is not None and not now.is_final:
                await self._journal.close(now.finished("cancelled"), lease)
                self._runner.ended["cancelled"] += 1
            self._queue.discard(run.client, run.id)
        finally:
            await self._journal.store.release(lease)
        return True

    async def wait(self, run_id: str, longest_s: float) -> None:
        """Wait until a run has ended, so long and no longer."""
        last, end = 0, time.monotonic() + longest_s
        while (left_s := end - time.monotonic()) > 0:
            for event in await self._journal.events(run_id, last, left_s):
                last = event.id
                if event.fields["data"].get("status") in FINAL:
                    return

    async def document(self, run: Run, media: Media) -> bytes:
        """A run as a document; where it is done, with all that its answer holds."""
        result = await self._journal.result(run.id) if run.status == "done" else None
        if result is None:
            return dump(run.document(), media)
        return await self._written(run.document(), result, media)

    async def answer(self, run: Run, media: Media) -> bytes | None:
        """The answer of a run that is done, as the call would have had it."""
        result = await self._journal.result(run.id)
        return None if result is None else await self._written({}, result, media)

    async def _written(self, said: dict[str, Any], result: Result, media: Media) -> bytes:
        answer = result.answer
        heavy = media == "json" and result.encoding == "json"
        weight = packing.weight(answer.leaves) if heavy else 0
        fields = {**said, **answer.fields}
        results = {"result": answer.result}
        form = (media, result.dtype, result.encoding)
        return await self._codec.run(weight, encode_body, fields, results, answer.leaves, *form)

    async def listen(self, run: Run, last: int, quiet_s: float) -> AsyncIterator[list[Told]]:
        """Events of a run after the one numbered ``last``, until its end."""
        async for events in self._feeds.listen(run, last, quiet_s):
            yield events

    async def heard(self, run: Run, last: int) -> tuple[int, bool]:
        """The event after which a listener who heard ``last`` goes on, and whether it was the end.

        An id that this run has not told yet is none of its own: everything is told then.
        """
        events = await self._journal.events(run.id, max(0, last - 1), 0.0)
        ends = [event.fields["data"].get("status") in FINAL for event in events]
        return (last if ends else 0), ends == [True]

    async def _told(self, run: Run, kind: str, data: dict[str, Any]) -> bytes:
        if kind != "result":
            return dump(data, "json")
        result = await self._journal.result(run.id)
        if result is not None and packing.weight(result.answer.leaves) <= TOLD_BYTES:
            return await self._written({}, result, "json")
        return dump({"location": f"/v1/runs/{run.id}"}, "json")


def _fits(run: Run, wanted: RunFilter, client: Client) -> bool:
    return (
        run.tenant in (None, client.tenant)
        and (not wanted.statuses or run.status in wanted.statuses)
        and (not wanted.verbs or run.verb in wanted.verbs)
    )
