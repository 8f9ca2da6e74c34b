"""What the store keeps of runs: records, requests, results, states, events, and who is to cancel.

Namespaces: ``run`` records, ``runin`` requests, ``runout`` results, ``runstate`` checkpoints,
``runkey`` idempotency keys, ``runopen`` the runs that have not ended, by the process they wait
in. All but the last are signed. Writes of the one who works on a run are fenced by its lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.cache.sealed import SealedValues
from app.cache.signing import Signer
from app.cache.store import Event, Lease, Page, Store
from app.core.codec.calls import CodecLimits
from app.services.runs import packing
from app.services.runs.packing import Request, Result
from app.services.runs.run import Run

OPEN = "runopen"
EVENTS_KEPT = 2000
OFF_LOOP_BYTES = 256 << 10
OPEN_TTL_S = 30 * 86400.0
"""Events of a run that never ends are forgotten after this long."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a solver was: its state, the next chunk's steps, and the seconds worked until then."""

    leaves: list[Any]
    steps: int
    elapsed: float


class Journal:
    """Reads and writes everything about runs. Every method raises ``Unavailable`` while the store
    is away."""

    def __init__(self, store: Store, signer: Signer, limits: CodecLimits, ttl_s: float) -> None:
        self.store = store
        self._limits = limits
        self._ttl_s = ttl_s
        self._records = SealedValues(store, signer, "run")
        self._requests = SealedValues(store, signer, "runin")
        self._results = SealedValues(store, signer, "runout")
        self._states = SealedValues(store, signer, "runstate")
        self._keys = SealedValues(store, signer, "runkey")

    async def create(self, run: Run, content: bytes, home: str) -> bool:
        """Keep a new run; ``False`` where it is there already. The record comes last."""
        await self.store.put(OPEN, run.id, home.encode())
        await self._requests.put(run.id, {}, content)
        if not await self._records.put_if_absent(run.id, run.to_wire()):
            return False
        await self.tell(run.id, "status", {"run": run.id, "status": run.status})
        return True

    async def load(self, run_id: str) -> Run | None:
        """The run under an id, as far as it is known."""
        opened = await self._records.get(run_id)
        return None if opened is None else Run.from_wire(opened.meta)

    async def save(self, run: Run, fence: Lease) -> bool:
        """Keep what has changed; ``False`` when another works on the run now."""
        ttl = self._ttl_s if run.is_final else None
        return await self._records.put(run.id, run.to_wire(), ttl=ttl, fence=fence)

    async def close(self, run: Run, fence: Lease, result: Result | None = None) -> bool:
        """Keep the end of a run: result, record, last events; what it no longer needs goes."""
        if result is not None and not await self._keep_result(run.id, result, fence):
            return False
        if not await self.save(run, fence):
            return False
        if run.status == "done":
            await self.tell(run.id, "result", {"run": run.id}, last=True)
        elif run.problem is not None:
            await self.tell(run.id, "problem", run.problem, last=True)
        await self.tell(run.id, "status", {"run": run.id, "status": run.status}, last=True)
        await self.leave(run.id)
        return True

    async def leave(self, run_id: str) -> None:
        """Forget what only an open run needs."""
        await self._requests.delete(run_id)
        await self._states.delete(run_id)
        await self.store.drop(_control(run_id))
        await self.store.delete(OPEN, run_id)

    async def request(self, run_id: str) -> Request | None:
        """What a run is to compute."""
        opened = await self._requests.get(run_id)
        if opened is None:
            return None
        return await _heavy(opened.content, packing.unpack_request, opened.content, self._limits)

    async def result(self, run_id: str) -> Result | None:
        """What a run gave."""
        opened = await self._results.get(run_id)
        if opened is None:
            return None
        return await _heavy(opened.content, packing.unpack_result, opened.content, self._limits)

    async def _keep_result(self, run_id: str, result: Result, fence: Lease) -> bool:
        if packing.weight(result.answer.leaves) < OFF_LOOP_BYTES:
            content = packing.pack_result(result)
        else:
            content = await asyncio.to_thread(packing.pack_result, result)
        return await self._results.put(run_id, {}, content, ttl=self._ttl_s, fence=fence)

    async def checkpoint(self, run_id: str) -> Checkpoint | None:
        """Where a solver was when it was last kept."""
        opened = await self._states.get(run_id)
        if opened is None:
            return None
        leaves = packing.unpack_leaves(opened.content, self._limits)
        return Checkpoint(leaves, opened.meta["steps"], opened.meta["elapsed"])

    async def keep_checkpoint(self, run_id: str, point: Checkpoint, fence: Lease) -> bool:
        """Keep where a solver is; ``False`` when another works on the run now."""
        if packing.weight(point.leaves) < OFF_LOOP_BYTES:
            content = packing.pack_leaves(point.leaves)
        else:
            content = await asyncio.to_thread(packing.pack_leaves, point.leaves)
        meta = {"steps": point.steps, "elapsed": point.elapsed}
        return await self._states.put(run_id, meta, content, fence=fence)

    async def tell(
        self, run_id: str, kind: str, data: Mapping[str, Any], *, last: bool = False
    ) -> None:
        """Add an event for those who listen."""
        fields = {"kind": kind, "data": dict(data)}
        ttl = self._ttl_s if last else max(self._ttl_s, OPEN_TTL_S)
        await self.store.append(_events(run_id), fields, ttl=ttl, max_events=EVENTS_KEPT)

    async def events(self, run_id: str, after: int, wait_s: float) -> list[Event]:
        """Events after an id; with none yet, wait for the first."""
        return await self.store.read(_events(run_id), after, wait_s)

    async def ask_to_cancel(self, run_id: str) -> None:
        """Tell whoever works on a run, wherever, to stop."""
        await self.store.append(_control(run_id), {"cancel": True}, ttl=self._ttl_s)

    async def wait_for_cancel(self, run_id: str, wait_s: float) -> bool:
        """Whether somebody asked to cancel, waiting for it."""
        return bool(await self.store.read(_control(run_id), 0, wait_s))

    async def claim_key(self, name: str, run_id: str, digest: str) -> tuple[str, str]:
        """Bind an idempotency key to a run and a request; what it is bound to, perhaps before."""
        meta = {"run": run_id, "digest": digest}
        if await self._keys.put_if_absent(name, meta, ttl=self._ttl_s):
            return run_id, digest
        opened = await self._keys.get(name)
        if opened is None:
            await self._keys.put(name, meta, ttl=self._ttl_s)
            return run_id, digest
        return opened.meta["run"], opened.meta["digest"]

    async def scan(self, after: str | None, limit: int) -> Page:
        """Ids of runs, the latest first."""
        return await self.store.scan("run", after, limit, reverse=True)

    async def acquire(self, run_id: str, ttl: float) -> Lease | None:
        """The right to work on a run, or ``None`` where another has it."""
        return await self.store.acquire(f"run/{run_id}", ttl)


def _events(run_id: str) -> str:
    return f"run/{run_id}"


def _control(run_id: str) -> str:
    return f"runcancel/{run_id}"


async def _heavy(content: bytes, work: Any, *args: Any) -> Any:
    if len(content) < OFF_LOOP_BYTES:
        return work(*args)
    return await asyncio.to_thread(work, *args)
