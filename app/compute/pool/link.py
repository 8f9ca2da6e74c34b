"""The pool's end of one worker: frames sent, answers in order, the clock of what runs.

Requests are answered in the order sent, so the first one in flight is the one that runs: its
limit counts from the moment the one before it was answered.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from app.compute.pool.arena import Arena
from app.compute.pool.frames import FrameError, FrameReader, fill, pack, reserve
from app.compute.pool.request import Request, WorkerDied

COPY_IN_THREAD = 1 << 20
"""Copies of more bytes than this leave the event loop."""


class Keeper(Protocol):
    """Who is told what becomes of a worker."""

    def arrived(self, link: Link) -> None:
        """The worker is ready."""
        ...

    def left(self, link: Link) -> None:
        """The worker has ended."""
        ...

    def is_founded(self) -> bool:
        """Whether what forked the worker still lives."""
        ...


class Link(asyncio.Protocol):
    """One worker. ``programs`` and ``arrays`` map what it holds, as far as is known, to bytes."""

    def __init__(
        self,
        serial: int,
        arena: Arena,
        window: int,
        keeper: Keeper,
    ) -> None:
        self.serial = serial
        self.arena = arena
        self.places = asyncio.Semaphore(window)
        self.load = 0
        self.background = 0
        self.pid = 0
        self.born = time.monotonic()
        self.ready = False
        self.dead = False
        self.sandbox: dict[str, bool] = {}
        self.programs: dict[str, int] = {}
        self.arrays: dict[str, int] = {}
        self.inflight: deque[Request] = deque()
        self._keeper = keeper
        self._reader = FrameReader(arena, self._adopt)
        self._freed: deque[int] = deque()
        self._numbers = 0
        self._pidfd = -1
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    def own(self, pid: int, pidfd: int) -> None:
        """Take the worker's process."""
        self.pid = pid
        self._pidfd = pidfd
        if self.dead:
            self._end_process()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is ours."""
        self._transport = cast(asyncio.Transport, transport)
        if self.dead:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The worker closed its end: it has ended, or is about to be."""
        self.close(blame=self._keeper.is_founded())

    def data_received(self, data: bytes) -> None:
        """Hand answers to those who wait; a worker that sends nonsense is ended."""
        try:
            for number, message, arrays in self._reader.feed(data):
                if number:
                    self._answered(number, message, arrays)
                else:
                    self.sandbox = dict(message[1])
                    self.ready = True
                    self._keeper.arrived(self)
        except (FrameError, LookupError, TypeError, ValueError):
            self.close(blame=True)

    def _answered(self, number: int, message: list[Any], arrays: list[np.ndarray]) -> None:
        status, payload = message
        if not self.inflight or self.inflight[0].number != number:
            raise FrameError("an answer to nothing")
        request = self.inflight.popleft()
        if request.blocks is not None:
            self.free(request.blocks)
        if self.inflight:
            self.inflight[0].started = time.monotonic()
        if not request.future.done():
            request.future.set_result((status, payload, arrays))

    async def stage(self, arrays: Sequence[np.ndarray]) -> list[int] | None:
        """Copy large arrays into shared memory, off the event loop where they are very large."""
        offsets = reserve(self.arena, arrays)
        if offsets is None:
            return None
        if sum(array.nbytes for array in arrays) <= COPY_IN_THREAD:
            fill(self.arena, arrays, offsets)
            return offsets
        copying = self._loop.run_in_executor(None, fill, self.arena, arrays, offsets)
        try:
            await asyncio.shield(copying)
        except asyncio.CancelledError:
            # The thread still writes there: the blocks are free only when it has finished.
            copying.add_done_callback(lambda _: self.free(offsets))
            raise
        return offsets

    def free(self, offsets: Sequence[int]) -> None:
        """Give staged blocks back."""
        for offset in offsets:
            if offset >= 0:
                self.arena.release(offset)

    def request(
        self,
        message: list[Any],
        arrays: Sequence[np.ndarray],
        limit: float,
        phase: str,
        offsets: Sequence[int] | None = None,
    ) -> Request:
        """Send one frame; its ``future`` gets the answer, ``WorkerDied`` or a passed deadline."""
        if self.dead or self._transport is None:
            if offsets is not None:
                self.free(offsets)
            raise WorkerDied(blamed=False)
        if self._freed:
            self.flush()
        self._numbers = number = self._numbers % 0xFFFFFFFF + 1
        request = Request(number, self._loop.create_future(), limit, phase, offsets)
        if not self.inflight:
            request.started = time.monotonic()
        self.inflight.append(request)
        self._transport.write(pack(number, message, arrays, offsets))
        return request

    def flush(self) -> None:
        """Tell the worker which result blocks nobody looks at any more."""
        offsets = []
        while self._freed:
            offsets.append(self._freed.popleft())
        if offsets and not self.dead and self._transport is not None:
            self._transport.write(pack(0, ["release", offsets], []))

    def _adopt(self, array: np.ndarray, offset: int) -> None:
        # The last view may die in any thread: a deque's append is safe there.
        weakref.finalize(array, self._freed.append, offset).atexit = False

    def overdue(self, now: float, cancel_s: float) -> str | None:
        """Why the worker must be ended now: ``deadline``, ``cancelled``, or not at all."""
        if not self.inflight:
            return None
        head = self.inflight[0]
        elapsed = now - head.started
        if head.future.cancelled():
            return "cancelled" if elapsed > cancel_s else None
        return "deadline" if elapsed > head.limit else None

    def end_deadline(self) -> None:
        """End the worker because the first request passed its limit, and tell that one so."""
        head = self.inflight[0]
        if not head.future.done():
            head.future.set_exception(head.passed_deadline())
        self.close(blame=False)

    def close(self, *, blame: bool) -> None:
        """End the worker, and tell everyone who waits on it. Doing it again does nothing."""
        if self.dead:
            return
        self.dead = True
        self.ready = False
        if self._transport is not None:
            self._transport.abort()
        self._end_process()
        for place, request in enumerate(self.inflight):
            if not request.future.done():
                request.future.set_exception(WorkerDied(blamed=blame and place == 0))
            # Auxiliary frames (loads, puts) may have nobody waiting: nothing to warn about.
            if not request.future.cancelled():
                request.future.exception()
        self.inflight.clear()
        self._keeper.left(self)

    def _end_process(self) -> None:
        try:
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            elif self.pid:
                os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            if self._pidfd >= 0:
                os.close(self._pidfd)
            self._pidfd = -1
