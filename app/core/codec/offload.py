"""Large bodies are decoded and encoded in processes of their own, so that nobody else waits.

``json.loads`` and number formatting hold the interpreter lock: a thread would not help. The
processes are started by ``concurrent.futures`` (spawn: no fork of a threaded parent).
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, ParamSpec, TypeVar

from app.core.errors import ProblemError, Unavailable, from_wire

P = ParamSpec("P")
T = TypeVar("T")


class Offload:
    """A small pool of codec processes; work below ``threshold`` bytes runs at once, inline."""

    def __init__(self, processes: int, threshold: int) -> None:
        self.threshold = threshold
        self._processes = processes
        self._executor: ProcessPoolExecutor | None = None

    async def run(self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """``work(*args)``, in another process when ``size`` bytes would hold the loop up."""
        if size <= self.threshold:
            return work(*args, **kwargs)
        loop = asyncio.get_running_loop()
        try:
            done, outcome = await loop.run_in_executor(self._pool(), _guarded, work, args, kwargs)
        except BrokenProcessPool:
            self._executor = None
            raise Unavailable("The codec process died", retry_after=1) from None
        if not done:
            raise from_wire(outcome)
        return outcome

    def warm(self) -> None:
        """Start the processes now rather than in the first large request."""
        for _ in range(self._processes):
            self._pool().submit(_ready)

    async def close(self) -> None:
        """End the processes; what they have not begun is dropped."""
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)

    def _pool(self) -> ProcessPoolExecutor:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self._processes, multiprocessing.get_context("spawn"), _follow_parent
            )
        return self._executor


def _ready() -> None:
    """Importing this module is what warms a process."""


def _follow_parent() -> None:
    """End this process when its server has ended, be it by a kill."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _guarded(work: Callable[..., Any], args: Any, kwargs: Any) -> tuple[bool, Any]:
    """Problems cross the border as plain data: exceptions with required fields do not pickle."""
    try:
        return True, work(*args, **kwargs)
    except ProblemError as problem:
        return False, problem.to_wire()
