"""The workers of a pool: forked by the zygote, watched, ended when overdue, replaced at once.

A post is a place that must be filled (a device, or compiling); a link is the worker that fills it
now. One spare, forked ahead, takes the place of a worker that died.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from app.compute.pool.arena import Arena
from app.compute.pool.link import Link
from app.compute.pool.post import HOPELESS, SPARE_FAILURES, Post, backoff
from app.compute.pool.settings import PoolSettings
from app.compute.pool.zygote import Zygote, ZygoteLost
from app.core import logging
from app.core.errors import Unavailable

TICK = 0.05
SPARE_REST_S = 0.3
"""How long after a spare was taken the next is forked."""
EVENTS = (
    "started",
    "died",
    "adopted",
    "retries",
    "deadline_kills",
    "cancel_kills",
    "zygotes_lost",
    "loads",
    "rejections",
    "queue_refusals",
    "poison_refusals",
)
"""What is counted over the life of a pool."""


class Crew:
    """Keeps every post filled from ``start`` to ``stop``."""

    def __init__(self, settings: PoolSettings) -> None:
        self.settings = settings
        self.posts = [Post(f"{settings.platform}:{n}", n) for n in range(settings.devices)]
        self.compilers = [Post(f"compile:{n}", None) for n in range(settings.compilers())]
        self.spare: Link | None = None
        self.counters: Counter[str] = Counter(dict.fromkeys(EVENTS, 0))
        self.sandbox: dict[str, bool] = {}
        self._zygote: Zygote | None = None
        self._zygote_failures = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._newborn: dict[Link, Post | None] = {}
        self._arrivals: list[asyncio.Future[None]] = []
        self._serial = 0
        self._stopping = False
        self._timer: asyncio.TimerHandle | None = None
        self._log = logging.get("pool")

    @property
    def zygote_pid(self) -> int | None:
        """The zygote's process id."""
        return self._zygote.pid if self._zygote else None

    def everyone(self) -> list[Post]:
        """Every post."""
        return [*self.posts, *self.compilers]

    def links(self) -> list[Link]:
        """Every worker there is now, the spare among them."""
        filled = [post.link for post in self.everyone() if post.link is not None]
        return filled if self.spare is None else [*filled, self.spare]

    def is_ready(self) -> bool:
        """Whether every post has a worker that answers."""
        return all(post.link is not None and post.link.ready for post in self.everyone())

    async def start(self) -> None:
        """Fill every post; raise ``Unavailable`` when that takes longer than the limit."""
        self._tick()
        self._spawn(self._run_zygote())
        try:
            async with asyncio.timeout(self.settings.start_s):
                while not self.is_ready():
                    if self._is_hopeless():
                        raise TimeoutError
                    await self.arrival()
        except TimeoutError:
            await self.stop()
            raise Unavailable("the workers did not start; the log says why") from None

    def _is_hopeless(self) -> bool:
        failures = [self._zygote_failures, *(post.failures for post in self.everyone())]
        return max(failures) >= HOPELESS

    async def stop(self) -> None:
        """End every process."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        for link in [*self.links(), *self._newborn]:
            link.close(blame=False)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._zygote is not None:
            await self._zygote.stop()
        self._wake()

    async def arrival(self) -> None:
        """Wait until another worker is ready."""
        future = asyncio.get_running_loop().create_future()
        self._arrivals.append(future)
        await future

    def _wake(self) -> None:
        waiting, self._arrivals = self._arrivals, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_zygote(self) -> None:
        while not self._stopping:
            await asyncio.sleep(backoff(self._zygote_failures))
            self._zygote = zygote = Zygote(self.settings, self._exited)
            try:
                await zygote.start()
            except (ZygoteLost, TimeoutError, OSError) as error:
                self._zygote_failures += 1
                self._wake()
                self._log.error("zygote did not start", error=repr(error))
                await zygote.stop()
                continue
            self._zygote_failures = 0
            self._log.info("zygote ready", pid=zygote.pid, **zygote.report)
            for post in self.everyone():
                self._fill(post)
            self._renew_spare()
            await zygote.lost.wait()
            self.counters["zygotes_lost"] += 1
            self._log.error("zygote lost", pid=zygote.pid)
            for link in self.links():
                link.close(blame=False)
            await zygote.stop()

    def _fill(self, post: Post) -> None:
        if self._stopping or post.link is not None:
            return
        # A spare that is answering a question would keep the post's own work waiting.
        if self.spare is not None and self.spare.ready and not self.spare.load:
            post.link, self.spare = self.spare, None
            self.counters["adopted"] += 1
            self._adopt(post, post.link)
            # What the dead worker left is done again first: a fork would share its processor.
            asyncio.get_running_loop().call_later(SPARE_REST_S, self._renew_spare)
            self._wake()
        else:
            self._spawn(self._hire(post))

    def _adopt(self, post: Post, link: Link) -> None:
        link.places = asyncio.Semaphore(self._window(post))
        if self.settings.platform != "cpu":
            link.request(["adopt", self._seen_by(post)], [], self.settings.start_s, "start")

    def _renew_spare(self) -> None:
        if self.settings.spare and self.spare is None and not self._stopping:
            self._spawn(self._hire(None))

    async def _hire(self, post: Post | None) -> None:
        """Fork one worker for a post, or for the spare's place."""
        if (self.spare if post is None else post.link) is not None:
            return
        if self._zygote is None or self._zygote.lost.is_set():
            return
        device = None if post is None else self._seen_by(post)
        try:
            link = await self._fork(post, device)
        except ZygoteLost:
            return  # the next zygote fills every post
        except OSError as error:
            self._log.warning("fork failed", error=repr(error))
            self._hire_later(post)
            return
        self.counters["started"] += 1
        self._log.debug("worker forked", pid=link.pid, post=post.name if post else "spare")

    def _hire_later(self, post: Post | None) -> None:
        if post is not None:
            post.failures += 1
        seconds = backoff(SPARE_FAILURES if post is None else post.failures)
        again = self._renew_spare if post is None else lambda: self._fill(post)
        asyncio.get_running_loop().call_later(seconds, again)

    def _seen_by(self, post: Post) -> int:
        # A compile worker of a GPU shares the first one: what it compiles fits them all.
        return post.device if post.device is not None else 0

    def _window(self, post: Post | None) -> int:
        # Compilations are long: those that wait do so here, where they can be withdrawn.
        return 1 if post is not None and post.device is None else self.settings.window

    async def _fork(self, post: Post | None, device: int | None) -> Link:
        assert self._zygote is not None
        settings = self.settings
        descriptor = Arena.create(settings.shared_bytes)
        ours, theirs = socket.socketpair()
        link = None
        try:
            arena = Arena(descriptor, settings.shared_bytes, upper=False)
            self._serial += 1
            link = Link(self._serial, arena, self._window(post), self)
            if post is None:
                self.spare = link
            else:
                post.link = link
            self._newborn[link] = post
            link.own(*await self._zygote.fork(link.serial, theirs, descriptor, device))
            ours.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.create_unix_connection(lambda: link, sock=ours)
            return link
        except BaseException:
            ours.close()
            if link is not None:
                link.close(blame=False)
            raise
        finally:
            theirs.close()
            os.close(descriptor)

    def is_founded(self) -> bool:
        """Whether the zygote lives: a worker that ends without it is not to blame for that."""
        return self._zygote is not None and self._zygote.is_alive()

    def arrived(self, link: Link) -> None:
        """A worker is ready."""
        self._newborn.pop(link, None)
        self.sandbox = link.sandbox or self.sandbox
        for post in self.everyone():
            if post.link is link:
                post.failures = 0
            elif post.link is None and link is self.spare:
                self._fill(post)
        self._wake()

    def left(self, link: Link) -> None:
        """A worker ended: fill its post."""
        if self._stopping:
            return
        newborn = self._newborn.pop(link, False) is not False
        self.counters["died"] += 1
        if link is self.spare:
            self.spare = None
            if newborn:
                self._hire_later(None)
            else:
                self._renew_spare()
        for post in self.everyone():
            if post.link is link:
                post.link = None
                post.restarts += 1
                if newborn:
                    self._hire_later(post)
                elif self.is_founded():
                    self._fill(post)
        self._wake()

    def _exited(self, pid: int, code: int) -> None:
        self._log.info("worker ended", pid=pid, code=code)

    def _tick(self) -> None:
        if self._stopping:
            return
        now = time.monotonic()
        for link in [*self.links(), *self._newborn]:
            if not link.ready and not link.dead:
                if now - link.born > self.settings.start_s:
                    link.close(blame=False)
                continue
            reason = link.overdue(now, self.settings.cancel_s)
            if reason == "deadline":
                self.counters["deadline_kills"] += 1
                self._log.warning("deadline passed", pid=link.pid, phase=link.inflight[0].phase)
                link.end_deadline()
            elif reason == "cancelled":
                self.counters["cancel_kills"] += 1
                link.close(blame=False)
            else:
                link.flush()
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)
