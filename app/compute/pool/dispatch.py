"""Who may ask, which worker is asked, what its answer means: shared by running and compiling."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.compute.image import ImageRejected
from app.compute.pool.crew import Crew
from app.compute.pool.link import Link
from app.compute.pool.poison import Poison
from app.compute.pool.post import Post
from app.compute.pool.request import WorkerDied
from app.compute.pool.settings import PoolSettings
from app.core import logging
from app.core.errors import (
    InternalError,
    InvalidArgument,
    TooManyRequests,
    Unavailable,
    WorkerLost,
    from_wire,
)

RETRIES = 1
MOVES = 20
"""How often work moves on from workers that died of something else."""
MEMORY_HINT = "it may need more memory than a worker has: send less, or work on parts"


class Missing(Exception):
    """The worker does not hold what it was thought to hold."""


class Deaths:
    """The workers that died under one request; ``count`` raises past the one retry."""

    def __init__(self, dispatch: Dispatch, key: str) -> None:
        self._dispatch = dispatch
        self._key = key
        self._blamed = 0
        self._moves = 0

    def count(self, death: WorkerDied) -> None:
        """Raise ``WorkerLost`` where the work may not be tried again."""
        dispatch = self._dispatch
        dispatch.refuse_while_draining()
        self._moves += 1
        if death.blamed:
            self._blamed += 1
            dispatch.poison.blame(self._key)
        if self._blamed > RETRIES or self._moves > MOVES:
            raise WorkerLost(
                "the worker running this ended, and ended again on a second try",
                hint=MEMORY_HINT,
                retry_after=1.0,
            ) from None
        dispatch.counters["retries"] += 1


class Dispatch:
    """Admission, places and routes."""

    def __init__(self, settings: PoolSettings, crew: Crew) -> None:
        self.settings = settings
        self.crew = crew
        self.counters = crew.counters
        self.poison = Poison(settings.poison_deaths, settings.poison_s)
        self.draining = False
        self.active = 0
        self.run_s = 0.001
        self._log = logging.get("pool")

    def refuse_while_draining(self) -> None:
        """Raise ``Unavailable`` once the pool is stopping."""
        if self.draining:
            raise Unavailable("the server is stopping", retry_after=5.0)

    def admit(self, key: str) -> None:
        """Raise for work that is not taken: while draining, or for a program that kills workers."""
        self.refuse_while_draining()
        try:
            self.poison.admit(key)
        except WorkerLost:
            self.counters["poison_refusals"] += 1
            raise

    def require_device(self, device: str) -> None:
        """Raise ``InvalidArgument`` for a device that is not there."""
        names = [post.name for post in self.crew.posts]
        if device not in names:
            raise InvalidArgument(
                f"there is no device {device!r}",
                pointer="/device",
                hint="devices here: " + ", ".join(names),
            )

    def route(self, key: str, device: str | None, *, background: bool = False) -> Post | None:
        """The post to run on: of those holding the program the least busy.

        ``None`` where no worker is ready. A holder is left when it is a whole window behind.
        Background work keeps off the first device where there are several, and other work off
        those that it is on while one is free of it.
        """
        posts = self.crew.posts
        if len(posts) == 1 and device is None:
            link = posts[0].link
            return posts[0] if link is not None and link.ready else None
        best = holder = None
        least = held = 1 << 30
        for post in self._open_to(device, background):
            link = post.link
            assert link is not None
            if link.load < least:
                best, least = post, link.load
            if link.load < held and key in link.programs:
                holder, held = post, link.load
        if holder is None or held - least >= self.settings.window:
            return best
        return holder

    def _open_to(self, device: str | None, background: bool) -> list[Post]:
        posts = self.crew.posts
        if device is None and background and len(posts) > 1:
            posts = posts[1:]
        ready = [
            post
            for post in posts
            if post.link is not None and post.link.ready and device in (None, post.name)
        ]
        if background or len(ready) < 2:
            return ready
        return [post for post in ready if post.link and not post.link.background] or ready

    async def vacancy(self, key: str, device: str | None, *, background: bool = False) -> Post:
        """The post to run on, as soon as one is ready."""
        while True:
            await self.arrival()
            post = self.route(key, device, background=background)
            if post is not None:
                return post

    async def arrival(self) -> None:
        """Wait until another worker is ready; ``Unavailable`` when none comes."""
        self.refuse_while_draining()
        try:
            async with asyncio.timeout(self.settings.start_s):
                await self.crew.arrival()
        except TimeoutError:
            raise Unavailable("no worker is ready", retry_after=2.0) from None

    def compiling(self) -> list[Link]:
        """The ready workers that compile."""
        posts = self.crew.compilers or self.crew.posts
        return [post.link for post in posts if post.link is not None and post.link.ready]

    async def compiler(self, *, light: bool) -> Link:
        """The least busy worker that compiles; light work goes to an idle spare before it waits."""
        links = self.compiling()
        while not links:
            await self.arrival()
            links = self.compiling()
        link = min(links, key=lambda link: link.load)
        spare = self.crew.spare
        if light and link.load and spare is not None and spare.ready and not spare.load:
            return spare
        return link

    async def enter(self, link: Link, limit: float) -> None:
        """Take a place among a link's requests, in order, within ``limit`` seconds.

        Raise ``TooManyRequests`` when the queue is full or the wait too long; ``leave`` gives
        the place back.
        """
        if link.load >= self.settings.queue_limit:
            self.counters["queue_refusals"] += 1
            raise TooManyRequests(
                f"{link.load} requests wait already", retry_after=self._expected_wait(link)
            )
        link.load += 1
        try:
            if link.places.locked():
                await self._turn(link, limit)
            else:
                await link.places.acquire()
        except BaseException:
            link.load -= 1
            raise

    def leave(self, link: Link) -> None:
        """Give a place back."""
        link.places.release()
        link.load -= 1

    async def _turn(self, link: Link, limit: float) -> None:
        try:
            async with asyncio.timeout(limit):
                await link.places.acquire()
        except TimeoutError:
            self.counters["queue_refusals"] += 1
            raise TooManyRequests(
                f"waited {limit:g} s behind other work", retry_after=self._expected_wait(link)
            ) from None

    def _expected_wait(self, link: Link) -> float:
        return min(60.0, max(1.0, link.load * self.run_s))

    async def call(
        self,
        link: Link,
        message: list[Any],
        arrays: Sequence[np.ndarray],
        limit: float,
        phase: str,
    ) -> tuple[Any, list[np.ndarray]]:
        """One request and its answer; raise what the answer says."""
        self.active += 1
        try:
            await self.enter(link, limit + self.settings.compile_s)
            try:
                offsets = await link.stage(arrays)
                request = link.request(message, arrays, limit, phase, offsets)
                status, payload, results = await request.future
            finally:
                self.leave(link)
        finally:
            self.active -= 1
        if status != "ok":
            self.raise_for(link, status, payload)
        return payload, results

    def raise_for(self, link: Link, status: str, payload: Any) -> None:
        """Raise what an answer other than ok says."""
        if status == "missing":
            raise Missing
        if status == "rejected":
            self.counters["rejections"] += 1
            raise ImageRejected(payload)
        if status == "problem":
            raise from_wire(payload)
        self._log.error("fault in a worker", pid=link.pid, trace=payload)
        raise InternalError("the worker met a fault of its own")
