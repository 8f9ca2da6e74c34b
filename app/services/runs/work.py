"""The work of one run: its request found again, its program found, executed, the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.core.errors import InternalError, TooManyRequests, Unavailable
from app.services.call import Answer, CallService
from app.services.runs.chunks import Chunks, is_chunked
from app.services.runs.hold import Hold
from app.services.runs.journal import Journal
from app.services.runs.packing import Request, Result
from app.services.runs.progress import Progress

T = TypeVar("T")
PAUSE_S = 0.5
LONGEST_PAUSE_S = 5.0
FIND_S = 60.0


class Work:
    """Does runs, one call each; knows nothing of leases beyond handing them on."""

    def __init__(self, journal: Journal, calls: CallService, chunks: Chunks) -> None:
        self._journal = journal
        self._calls = calls
        self._chunks = chunks

    async def do(self, run_id: str, progress: Progress, hold: Hold) -> Result:
        """The result of a run; raises ProblemErrors."""
        until = time.monotonic() + FIND_S
        request = await patiently(lambda: self._journal.request(run_id), until)
        if request is None:
            raise InternalError("The inputs of this run are no longer kept; send it again")
        until = time.monotonic() + request.options.limit(FIND_S)
        answer = await patiently(lambda: self._answer(run_id, request, progress, hold), until)
        return Result(answer, request.spec.dtype, request.encoding)

    async def _answer(
        self, run_id: str, request: Request, progress: Progress, hold: Hold
    ) -> Answer:
        leaves = await self._calls.resolve(request.leaves)
        spec = request.spec
        if is_chunked(spec):
            return await self._chunks.solve(run_id, spec, leaves, request.options, progress, hold)
        if spec.verb == "abstract_eval":
            return await self._calls.answer(spec, leaves, request.options)
        progress.tell({"phase": "compiling"})
        found = await self._calls.find(spec)
        progress.tell({"phase": "executing"})
        return await self._calls.run_found(found, leaves, request.options)


async def patiently(attempt: Callable[[], Awaitable[T]], until: float) -> T:
    """What ``attempt`` gives, tried again while the server is busy or the store is away."""
    pause = PAUSE_S
    while True:
        try:
            return await attempt()
        except (TooManyRequests, Unavailable):
            if time.monotonic() + pause > until:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)
