"""The pool of this machine: worker processes forked by one zygote, behind the ``Pool`` protocol.

Parent side; never imports JAX. ``crew`` keeps the workers alive, ``dispatch`` chooses among them,
``running`` and ``compiling`` talk to them, ``link`` is the wire.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.compute.image import ProgramImage, Resident
from app.compute.pool.compiling import Compiler
from app.compute.pool.crew import Crew
from app.compute.pool.dispatch import Dispatch
from app.compute.pool.post import Post
from app.compute.pool.protocol import Lowering, RunResult
from app.compute.pool.running import Runner
from app.compute.pool.settings import PoolSettings
from app.compute.sandbox.level import level
from app.compute.spec import ProgramSpec
from app.core import logging


class LocalPool:
    """A ``Pool`` on this machine."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._crew = Crew(settings)
        self._dispatch = Dispatch(settings, self._crew)
        self._runner = Runner(self._dispatch)
        self._compiler = Compiler(self._dispatch)
        self._log = logging.get("pool")

    async def start(self) -> None:
        """Start every worker and wait until they are ready; ``Unavailable`` if they do not come."""
        await self._crew.start()
        held = self._crew.sandbox
        self._log.info("sandbox", level=level(held), **held)

    async def stop(self, grace: float) -> None:
        """Refuse new work, let what runs finish for ``grace`` seconds, then end every process."""
        self._dispatch.draining = True
        until = time.monotonic() + grace
        while self._dispatch.active and time.monotonic() < until:
            await asyncio.sleep(0.01)
        await self._crew.stop()

    async def run(
        self,
        image: ProgramImage,
        leaves: Sequence[np.ndarray | Resident],
        *,
        deadline_s: float,
        device: str | None = None,
        background: bool = False,
    ) -> RunResult:
        """Run a program on the device that suits best, or on the one named.

        ``background`` leaves a device to other work where there are several.

        Raise ``ImageRejected`` for a blob that does not load here, ``DeadlineExceeded``,
        ``WorkerLost``, ``TooManyRequests``, ``Unavailable``, ``InvalidArgument`` (device), and
        what the program itself raises.
        """
        self._dispatch.active += 1
        try:
            return await self._runner.run(image, leaves, deadline_s, device, background)
        finally:
            self._dispatch.active -= 1

    async def verify(self, image: ProgramImage) -> None:
        """Load a blob where a crash costs nothing; raise ``ImageRejected`` if it does not load.

        ``run`` does this itself for an image whose origin is the store.
        """
        await self._runner.verify(image)

    async def lower(self, spec: ProgramSpec) -> Lowering:
        """Trace and lower in a compile worker."""
        return await self._compiler.lower(spec)

    async def compile(self, lowering: Lowering) -> bytes | None:
        """Compile what was lowered; ``None`` where the program cannot be serialised."""
        return await self._compiler.compile(lowering)

    async def discard(self, lowering: Lowering) -> None:
        """Forget what was lowered."""
        await self._compiler.discard(lowering)

    async def ask(
        self,
        op: str,
        payload: Mapping[str, Any],
        leaves: Sequence[np.ndarray] = (),
        *,
        deadline_s: float,
    ) -> dict[str, Any]:
        """One of check, abstract_eval, ir, diagnose, catalogue; lists come under ``items``."""
        return await self._compiler.ask(op, payload, leaves, deadline_s)

    def devices(self) -> list[dict[str, Any]]:
        """Every device: id, kind, state, memory, load, residents, compiles_own."""
        return [self._device(post) for post in self._crew.posts]

    def _device(self, post: Post) -> dict[str, Any]:
        link = post.link
        programs = link.programs if link is not None else {}
        arrays = link.arrays if link is not None else {}
        return {
            "id": post.name,
            "kind": self._settings.platform,
            "state": "ready" if link is not None and link.ready else "starting",
            "memory": {
                "limit": self._settings.memory_bytes if self._settings.platform == "cpu" else None,
                "programs": sum(programs.values()),
                "arrays": sum(arrays.values()),
                "shared": link.arena.used if link is not None else 0,
            },
            "load": link.load if link is not None else 0,
            "resident_programs": len(programs),
            "resident_arrays": len(arrays),
            "compiles_own": not self._crew.compilers,
        }

    def status(self) -> dict[str, Any]:
        """Readiness, the sandbox level reached, workers, queue, poisoned programs, counters."""
        crew, dispatch = self._crew, self._dispatch
        return {
            "ready": crew.is_ready() and not dispatch.draining,
            "draining": dispatch.draining,
            "sandbox": {"level": level(crew.sandbox), **crew.sandbox},
            "zygote": crew.zygote_pid,
            "workers": [_worker(post) for post in crew.everyone()],
            "spare": crew.spare is not None and crew.spare.ready,
            "queue": sum(link.load for link in crew.links()),
            "poisoned": dispatch.poison.counts(),
            "counters": dict(crew.counters),
        }


def _worker(post: Post) -> dict[str, Any]:
    link = post.link
    return {
        "post": post.name,
        "pid": link.pid if link is not None else None,
        "ready": link is not None and link.ready,
        "restarts": post.restarts,
        "load": link.load if link is not None else 0,
    }
