"""Running programs: sent ahead to a worker that lacks them, verified first when they come from far.

A load or a put goes just before the run that needs it, without waiting for its answer.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from app.compute.image import ImageRejected, ProgramImage, Resident
from app.compute.pool.dispatch import Deaths, Dispatch, Missing
from app.compute.pool.link import Link
from app.compute.pool.post import Post
from app.compute.pool.protocol import RunResult
from app.compute.pool.request import Reply, Request, WorkerDied
from app.core.errors import TooManyRequests

MISSES = 4
VERIFIED = 4096
BUILT_BYTES = 1 << 20
"""What a program that was compiled in place counts for: its true size is not known."""


class Runner:
    """Runs images on the device workers of a dispatch."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._settings = dispatch.settings
        self._verified: OrderedDict[str, None] = OrderedDict()

    async def run(
        self,
        image: ProgramImage,
        leaves: Sequence[np.ndarray | Resident],
        deadline_s: float,
        device: str | None,
        background: bool = False,
    ) -> RunResult:
        """Run, on another worker when one dies or has dropped what it held."""
        dispatch, key = self._dispatch, image.key
        dispatch.admit(key)
        if device is not None:
            dispatch.require_device(device)
        begun = time.monotonic()
        deaths: Deaths | None = None
        misses = 0
        if image.origin == "store" and key not in self._verified:
            await self.verify(image)
        while True:
            post = dispatch.route(key, device, background=background)
            post = post or await dispatch.vacancy(key, device, background=background)
            link = post.link
            assert link is not None
            link.background += background
            try:
                return await self._attempt(post, image, leaves, deadline_s, begun)
            except WorkerDied as death:
                deaths = deaths or Deaths(dispatch, key)
                deaths.count(death)
            except Missing:
                misses += 1
                if misses > MISSES:
                    raise TooManyRequests(
                        "this and other work evict each other from the device's memory",
                        retry_after=1.0,
                    ) from None
            finally:
                link.background -= background

    async def _attempt(
        self,
        post: Post,
        image: ProgramImage,
        leaves: Sequence[np.ndarray | Resident],
        deadline_s: float,
        begun: float,
    ) -> RunResult:
        dispatch, key, link = self._dispatch, image.key, post.link
        assert link is not None
        await dispatch.enter(link, deadline_s)
        ahead: list[Request] = []
        try:
            placed = time.monotonic()
            known = key in link.programs
            if not known:
                ahead.append(await self._send_program(link, image))
            layout: list[str | None] | None = None
            sent: Sequence[Any] = leaves
            if Resident in map(type, leaves):
                layout, sent = await self._send_residents(link, leaves, ahead)
            offsets = await link.stage(sent)
            staged = time.monotonic()
            request = link.request(["run", key, layout], sent, deadline_s, "run", offsets)
            status, payload, results = await request.future
        except WorkerDied:
            _raise_first(ahead)
            raise
        finally:
            dispatch.leave(link)
        if status != "ok":
            self._raise_failed(link, key, ahead, status, payload)
        dispatch.poison.clear(key)
        ended = time.monotonic()
        dispatch.run_s += 0.05 * (payload - dispatch.run_s)
        load = request.started - ahead[0].started if ahead else 0.0
        timings = {
            "queue": placed - begun + max(0.0, request.started - staged - load),
            "transfer": staged - placed + max(0.0, ended - request.started - payload),
            "load": load,
            "execute": payload,
        }
        return RunResult(results, post.name, not known, timings)

    async def _send_program(self, link: Link, image: ProgramImage) -> Request:
        if image.blob is None:
            message = ["build", image.key, image.spec.to_wire()]
            request = link.request(message, [], self._settings.compile_s, "compile")
            size = BUILT_BYTES
        else:
            blob = np.frombuffer(image.blob, np.uint8)
            offsets = await link.stage([blob])
            message = ["load", image.key]
            request = link.request(message, [blob], self._settings.load_s, "load", offsets)
            size = len(image.blob)
        self._dispatch.counters["loads"] += 1
        link.programs[image.key] = size
        request.future.add_done_callback(_settler(link.programs, image.key))
        return request

    async def _send_residents(
        self, link: Link, leaves: Sequence[np.ndarray | Resident], ahead: list[Request]
    ) -> tuple[list[str | None], list[np.ndarray]]:
        """The layout (ids, ``None`` for arrays sent along) and those arrays."""
        layout: list[str | None] = []
        sent: list[np.ndarray] = []
        for leaf in leaves:
            if not isinstance(leaf, Resident):
                layout.append(None)
                sent.append(leaf)
                continue
            layout.append(leaf.id)
            if leaf.id not in link.arrays:
                offsets = await link.stage([leaf.value])
                message, limit = ["put", leaf.id], self._settings.load_s
                request = link.request(message, [leaf.value], limit, "transfer", offsets)
                link.arrays[leaf.id] = leaf.value.nbytes
                request.future.add_done_callback(_settler(link.arrays, leaf.id))
                ahead.append(request)
        return layout, sent

    def _raise_failed(
        self, link: Link, key: str, ahead: Sequence[Request], status: str, payload: Any
    ) -> None:
        """Raise what a load or put said if it failed, for the run after it could only miss."""
        for request in ahead:
            before, said, _ = request.future.result()
            if before != "ok":
                self._dispatch.raise_for(link, before, said)
        if status == "missing":
            program, arrays = payload
            if program:
                link.programs.pop(key, None)
            for name in arrays:
                link.arrays.pop(name, None)
        self._dispatch.raise_for(link, status, payload)

    async def verify(self, image: ProgramImage) -> None:
        """Load a blob where a crash costs nothing; raise ``ImageRejected`` if it does not load."""
        if image.blob is None:
            return
        blob = np.frombuffer(image.blob, np.uint8)
        dispatch = self._dispatch
        deaths = Deaths(dispatch, image.key)
        while image.key not in self._verified:
            spare = dispatch.crew.spare
            idle = spare is not None and spare.ready and not spare.load
            link = spare if spare is not None and idle else await dispatch.compiler(light=False)
            try:
                await dispatch.call(link, ["verify"], [blob], self._settings.load_s, "load")
            except WorkerDied as death:
                if death.blamed:
                    dispatch.counters["rejections"] += 1
                    raise ImageRejected("a worker died while loading it") from None
                deaths.count(death)
            else:
                self._verified[image.key] = None
        if len(self._verified) > VERIFIED:
            self._verified.popitem(last=False)


def _raise_first(ahead: Sequence[Request]) -> None:
    """Raise what ended the worker before the run began, where that was a load or a put."""
    for request in ahead:
        if request.future.done() and (error := request.future.exception()) is not None:
            raise error


def _settler(held: dict[str, int], name: str) -> Callable[[asyncio.Future[Reply]], None]:
    """Keep what a worker is thought to hold in step with its answer to a load or a put."""

    def settle(done: asyncio.Future[Reply]) -> None:
        if done.cancelled() or done.exception() is not None or done.result()[0] != "ok":
            held.pop(name, None)
            return
        for dropped in done.result()[1]:
            held.pop(dropped, None)

    return settle
