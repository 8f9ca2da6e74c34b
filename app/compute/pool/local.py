"""The pool of this machine: programs routed to workers that hold them, failures retried once.

Parent side; never imports JAX. See ``crew`` for how workers live and die, ``link`` for the wire.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from app.compute.image import ImageRejected, ProgramImage, Resident
from app.compute.pool.crew import Crew, Post
from app.compute.pool.link import Link, Reply, Request, WorkerDied
from app.compute.pool.poison import Poison
from app.compute.pool.protocol import Lowering, RunResult
from app.compute.pool.settings import PoolSettings
from app.compute.sandbox.level import level
from app.compute.spec import ProgramSpec
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
MISSES = 4
VERIFIED = 4096


class Missing(Exception):
    """The worker does not hold what was thought to be there."""


class LocalPool:
    """A ``Pool`` of worker processes forked by one zygote."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._crew = Crew(settings)
        self._poison = Poison(settings.poison_deaths, settings.poison_s)
        self._counters = self._crew.counters
        self._verified: OrderedDict[str, None] = OrderedDict()
        self._active = 0
        self._draining = False
        self._run_s = 0.001
        self._log = logging.get("pool")

    async def start(self) -> None:
        """Start every worker and wait until they are ready."""
        await self._crew.start()
        reached = level(self._crew.sandbox)
        self._log.info("sandbox", level=reached, **self._crew.sandbox)

    async def stop(self, grace: float) -> None:
        """Refuse new work, let what runs finish for ``grace`` seconds, then end every process."""
        self._draining = True
        until = time.monotonic() + grace
        while self._active and time.monotonic() < until:
            await asyncio.sleep(0.01)
        await self._crew.stop()

    # Running

    async def run(
        self,
        image: ProgramImage,
        leaves: Sequence[np.ndarray | Resident],
        *,
        deadline_s: float,
        device: str | None = None,
    ) -> RunResult:
        """Run a program on the device that suits best, or on the one named."""
        self._admit(image.key)
        if device is not None:
            self._require_device(device)
        begun = time.monotonic()
        deaths = misses = 0
        self._active += 1
        try:
            if image.origin == "store" and image.key not in self._verified:
                await self.verify(image)
            while True:
                post = self._route(image.key, device) or await self._vacancy(image.key, device)
                link = post.link
                assert link is not None
                try:
                    return await self._attempt(post, link, image, leaves, deadline_s, begun)
                except WorkerDied as death:
                    deaths = self._count_death(image.key, death, deaths)
                except Missing:
                    misses += 1
                    if misses > MISSES:
                        raise TooManyRequests(
                            "the device's memory for programs and arrays is contended",
                            retry_after=1.0,
                        ) from None
        finally:
            self._active -= 1

    async def _attempt(
        self,
        post: Post,
        link: Link,
        image: ProgramImage,
        leaves: Sequence[np.ndarray | Resident],
        deadline_s: float,
        begun: float,
    ) -> RunResult:
        await self._enter(link, deadline_s)
        ahead: list[Request] = []
        try:
            placed = time.monotonic()
            known = image.key in link.programs
            if not known:
                ahead.append(await self._send_program(link, image))
            layout: list[str | None] | None = None
            sent: Sequence[Any] = leaves
            if any(type(leaf) is Resident for leaf in leaves):
                layout, sent = await self._send_residents(link, leaves, ahead)
            offsets = await link.stage(sent)
            staged = time.monotonic()
            request = link.request(["run", image.key, layout], sent, deadline_s, "run", offsets)
            status, payload, results = await request.future
        except WorkerDied:
            _raise_first(ahead)
            raise
        finally:
            self._leave(link)
        if status != "ok":
            self._raise_failed(link, image.key, ahead)
            self._unusual(link, image.key, status, payload)
        ended = time.monotonic()
        self._run_s += 0.05 * (payload - self._run_s)
        load = request.started - ahead[0].started if ahead else 0.0
        timings = {
            "queue": placed - begun + max(0.0, request.started - staged - load),
            "transfer": staged - placed + max(0.0, ended - request.started - payload),
            "load": load,
            "execute": payload,
        }
        return RunResult(results, post.name, not known, timings)

    async def _send_program(self, link: Link, image: ProgramImage) -> Request:
        """Send the program ahead of the run that needs it; the run is not kept waiting."""
        settings = self._settings
        if image.blob is None:
            message = ["build", image.key, image.spec.to_wire()]
            request = link.request(message, [], settings.compile_s, "compile")
            size = 1 << 20
        else:
            blob = np.frombuffer(image.blob, np.uint8)
            offsets = await link.stage([blob])
            message = ["load", image.key]
            request = link.request(message, [blob], settings.load_s, "load", offsets)
            size = len(image.blob)
        self._counters["loads"] += 1
        link.programs[image.key] = size
        request.future.add_done_callback(_settler(link.programs, image.key))
        return request

    async def _send_residents(
        self, link: Link, leaves: Sequence[np.ndarray | Resident], ahead: list[Request]
    ) -> tuple[list[str | None], list[np.ndarray]]:
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
                message = ["put", leaf.id]
                limit = self._settings.load_s
                request = link.request(message, [leaf.value], limit, "transfer", offsets)
                link.arrays[leaf.id] = leaf.value.nbytes
                request.future.add_done_callback(_settler(link.arrays, leaf.id))
                ahead.append(request)
        return layout, sent

    def _raise_failed(self, link: Link, key: str, ahead: Sequence[Request]) -> None:
        """Raise what a load or put said, if it failed: the run after it could only miss."""
        for request in ahead:
            status, payload, _ = request.future.result()
            if status not in ("ok", "missing"):
                self._unusual(link, key, status, payload)

    def _unusual(self, link: Link, key: str, status: str, payload: Any) -> None:
        """Raise what a reply other than ok says."""
        if status == "missing":
            program, arrays = payload or (False, ())
            if program:
                link.programs.pop(key, None)
            for name in arrays:
                link.arrays.pop(name, None)
            raise Missing
        if status == "rejected":
            self._counters["rejected"] += 1
            raise ImageRejected(payload)
        if status == "problem":
            raise from_wire(payload)
        self._log.error("fault in a worker", pid=link.pid, trace=payload)
        raise InternalError("the worker met a fault of its own")

    async def verify(self, image: ProgramImage) -> None:
        """Load a blob where a crash costs nothing; raise ``ImageRejected`` if it does not load."""
        if image.blob is None:
            return
        blob = np.frombuffer(image.blob, np.uint8)
        link = self._spare_or_compiler()
        try:
            await self._call(link, ["verify"], [blob], self._settings.load_s, "load")
        except WorkerDied as death:
            if death.blamed:
                self._counters["rejected"] += 1
                raise ImageRejected("the worker died while loading it") from None
        self._verified[image.key] = None
        if len(self._verified) > VERIFIED:
            self._verified.popitem(last=False)

    def _spare_or_compiler(self) -> Link:
        spare = self._crew.spare
        if spare is not None and spare.ready and not spare.load:
            return spare
        return min(self._compiling(), key=lambda link: link.load)

    # Compiling

    async def lower(self, spec: ProgramSpec) -> Lowering:
        """Trace and lower in a compile worker."""
        limit, key = self._settings.trace_s, spec.key()
        message = ["lower", spec.to_wire()]
        (number, l2, meta), _, link = await self._exchange(message, [], limit, "trace", key)
        return Lowering(l2, meta, spec, (link.serial, number))

    async def compile(self, lowering: Lowering) -> bytes | None:
        """Compile what was lowered; ``None`` where the program cannot be serialised."""
        key, limit = lowering.spec.key(), self._settings.compile_s
        deaths = 0
        for _ in range(MISSES):
            link = self._holder(lowering)
            if link is not None:
                message = ["compile", lowering.token[1]]
                try:
                    meta, arrays = await self._tracked(link, message, [], limit, "compile", key)
                except Missing:
                    pass
                except WorkerDied as death:
                    deaths = self._count_death(key, death, deaths)
                else:
                    lowering.meta.clear()
                    lowering.meta.update(meta)
                    return arrays[0].tobytes() if arrays else None
            again = await self.lower(lowering.spec)
            lowering.l2, lowering.token = again.l2, again.token
        raise TooManyRequests("too many programs wait to be compiled", retry_after=1.0)

    async def discard(self, lowering: Lowering) -> None:
        """Forget what was lowered."""
        link = self._holder(lowering)
        if link is not None and not link.dead:
            link.request(["discard", lowering.token[1]], [], 5.0, "discard")

    async def ask(
        self,
        op: str,
        payload: Mapping[str, Any],
        leaves: Sequence[np.ndarray] = (),
        *,
        deadline_s: float,
    ) -> dict[str, Any]:
        """One of check, abstract_eval, ir, diagnose, catalogue; lists come back under ``items``."""
        sent = dict(payload)
        key = op
        if isinstance(spec := sent.get("spec"), ProgramSpec):
            key = spec.key()
            sent["spec"] = spec.to_wire()
        phase = "run" if op == "diagnose" else "trace"
        answer, _, _ = await self._exchange(["ask", op, sent], leaves, deadline_s, phase, key)
        return answer

    async def _exchange(
        self, message: list[Any], arrays: Sequence[np.ndarray], limit: float, phase: str, key: str
    ) -> tuple[Any, list[np.ndarray], Link]:
        self._admit(key)
        deaths = 0
        while True:
            links = self._compiling()
            while not links:
                await self._arrival()
                links = self._compiling()
            link = min(links, key=lambda link: link.load)
            spare = self._crew.spare
            if link.load and spare is not None and spare.ready and not spare.load:
                link = spare if message[0] == "ask" else link
            try:
                payload, results = await self._tracked(link, message, arrays, limit, phase, key)
                return payload, results, link
            except WorkerDied as death:
                deaths = self._count_death(key, death, deaths)

    async def _tracked(
        self,
        link: Link,
        message: list[Any],
        arrays: Sequence[np.ndarray],
        limit: float,
        phase: str,
        key: str,
    ) -> tuple[Any, list[np.ndarray]]:
        self._active += 1
        try:
            return await self._call(link, message, arrays, limit, phase, key)
        finally:
            self._active -= 1

    async def _call(
        self,
        link: Link,
        message: list[Any],
        arrays: Sequence[np.ndarray],
        limit: float,
        phase: str,
        key: str = "",
    ) -> tuple[Any, list[np.ndarray]]:
        await self._enter(link, limit + self._settings.compile_s)
        try:
            offsets = await link.stage(arrays)
            request = link.request(message, arrays, limit, phase, offsets)
            status, payload, results = await request.future
        finally:
            self._leave(link)
        if status != "ok":
            self._unusual(link, key, status, payload)
        return payload, results

    # Routing

    def _admit(self, key: str) -> None:
        if self._draining:
            raise Unavailable("the server is stopping", retry_after=5.0)
        try:
            self._poison.admit(key)
        except WorkerLost:
            self._counters["poisoned"] += 1
            raise

    def _count_death(self, key: str, death: WorkerDied, deaths: int) -> int:
        """Deaths so far of one request; raise ``WorkerLost`` past the one retry."""
        if self._draining:
            raise Unavailable("the server is stopping", retry_after=5.0) from None
        if not death.blamed:
            return deaths
        self._poison.blame(key)
        if deaths >= RETRIES:
            raise WorkerLost(
                "the worker running this ended, and ended again on a second try",
                hint="it may need more memory than a worker has: send less, or work on parts",
                retry_after=1.0,
            ) from None
        self._counters["retries"] += 1
        return deaths + 1

    def _require_device(self, device: str) -> None:
        names = [post.name for post in self._crew.posts]
        if device not in names:
            raise InvalidArgument(
                f"there is no device {device!r}",
                pointer="/device",
                hint="devices here: " + ", ".join(names),
            )

    def _route(self, key: str, device: str | None) -> Post | None:
        """The best post with a ready worker: one that holds the program, unless it is too busy."""
        best = holder = None
        least = held = 1 << 30
        for post in self._crew.posts:
            link = post.link
            if link is None or not link.ready or (device is not None and post.name != device):
                continue
            if link.load < least:
                best, least = post, link.load
            if link.load < held and key in link.programs:
                holder, held = post, link.load
        if holder is None or held - least >= self._settings.window:
            return best
        return holder

    async def _vacancy(self, key: str, device: str | None) -> Post:
        while True:
            await self._arrival()
            post = self._route(key, device)
            if post is not None:
                return post

    async def _arrival(self) -> None:
        if self._draining:
            raise Unavailable("the server is stopping", retry_after=5.0)
        try:
            async with asyncio.timeout(self._settings.start_s):
                await self._crew.arrival()
        except TimeoutError:
            raise Unavailable("no worker is ready", retry_after=2.0) from None

    def _compiling(self) -> list[Link]:
        own = self._settings.compiles_own() or not self._crew.compilers
        posts = self._crew.posts if own else self._crew.compilers
        return [post.link for post in posts if post.link is not None and post.link.ready]

    def _holder(self, lowering: Lowering) -> Link | None:
        for link in self._compiling():
            if link.serial == lowering.token[0]:
                return link
        return None

    async def _enter(self, link: Link, limit: float) -> None:
        """Take a place among the requests of a link: in order, after ``limit`` seconds at most."""
        if link.load >= self._settings.queue_limit:
            self._counters["refused"] += 1
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

    def _leave(self, link: Link) -> None:
        link.places.release()
        link.load -= 1

    async def _turn(self, link: Link, limit: float) -> None:
        try:
            async with asyncio.timeout(limit):
                await link.places.acquire()
        except TimeoutError:
            self._counters["refused"] += 1
            raise TooManyRequests(
                f"waited {limit:g} s behind other work", retry_after=self._expected_wait(link)
            ) from None

    def _expected_wait(self, link: Link) -> float:
        return min(60.0, max(1.0, link.load * self._run_s))

    # Telling

    def devices(self) -> list[dict[str, Any]]:
        """Every device: id, kind, state, memory, load, residents, compiles_own."""
        return [self._device(post) for post in self._crew.posts]

    def _device(self, post: Post) -> dict[str, Any]:
        link = post.link
        ready = link is not None and link.ready
        programs = link.programs if link is not None else {}
        arrays = link.arrays if link is not None else {}
        return {
            "id": post.name,
            "kind": self._settings.platform,
            "state": "ready" if ready else "starting",
            "memory": {
                "limit": self._settings.memory_bytes if self._settings.platform == "cpu" else None,
                "programs": sum(programs.values()),
                "arrays": sum(arrays.values()),
                "shared": link.arena.used if link is not None else 0,
            },
            "load": link.load if link is not None else 0,
            "resident_programs": len(programs),
            "resident_arrays": len(arrays),
            "compiles_own": self._settings.compiles_own(),
        }

    def status(self) -> dict[str, Any]:
        """Readiness, the sandbox level reached, workers, counters."""
        crew = self._crew
        workers = [
            {
                "post": post.name,
                "pid": post.link.pid if post.link is not None else None,
                "ready": post.link is not None and post.link.ready,
                "restarts": post.restarts,
                "load": post.link.load if post.link is not None else 0,
            }
            for post in crew.everyone()
        ]
        return {
            "ready": crew.is_ready() and not self._draining,
            "draining": self._draining,
            "sandbox": {"level": level(crew.sandbox), **crew.sandbox},
            "zygote": crew.zygote_pid,
            "workers": workers,
            "spare": crew.spare is not None and crew.spare.ready,
            "queue": sum(link.load for link in crew.links()),
            "poisoned": self._poison.counts(),
            "counters": dict(self._counters),
        }


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
