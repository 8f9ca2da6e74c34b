"""Compiling: lowered in one worker, compiled there, lowered again wherever that worker is gone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.compute.pool.dispatch import Deaths, Dispatch, Missing
from app.compute.pool.link import Link
from app.compute.pool.protocol import Lowering
from app.compute.pool.request import WorkerDied
from app.compute.spec import ProgramSpec
from app.core.errors import TooManyRequests

LOWERED_AGAIN = 4
DISCARD_S = 5.0


class Compiler:
    """Asks the compile workers of a dispatch."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._settings = dispatch.settings

    async def lower(self, spec: ProgramSpec) -> Lowering:
        """Trace and lower in a compile worker."""
        limit, key = self._settings.trace_s, spec.key()
        message = ["lower", spec.to_wire()]
        (number, l2, meta), _, link = await self._exchange(message, [], limit, "trace", key)
        return Lowering(l2, meta, spec, (link.serial, number))

    async def compile(self, lowering: Lowering) -> bytes | None:
        """Compile what was lowered; ``None`` where the program cannot be serialised."""
        key, limit = lowering.spec.key(), self._settings.compile_s
        self._dispatch.admit(key)
        deaths = Deaths(self._dispatch, key)
        for _ in range(LOWERED_AGAIN):
            link = self._holder(lowering)
            if link is not None:
                message = ["compile", lowering.token[1]]
                try:
                    meta, arrays = await self._dispatch.call(link, message, [], limit, "compile")
                except Missing:
                    pass
                except WorkerDied as death:
                    deaths.count(death)
                else:
                    lowering.meta.clear()
                    lowering.meta.update(meta)
                    return arrays[0].tobytes() if arrays else None
            again = await self.lower(lowering.spec)
            lowering.l2, lowering.token = again.l2, again.token
        raise TooManyRequests("too many programs wait to be compiled", retry_after=1.0)

    async def discard(self, lowering: Lowering) -> None:
        """Forget what was lowered; nothing is waited for."""
        link = self._holder(lowering)
        if link is not None and not link.dead:
            link.request(["discard", lowering.token[1]], [], DISCARD_S, "discard")

    async def ask(
        self,
        op: str,
        payload: Mapping[str, Any],
        leaves: Sequence[np.ndarray],
        deadline_s: float,
    ) -> dict[str, Any]:
        """One of check, abstract_eval, ir, diagnose, catalogue; lists come under ``items``."""
        sent = dict(payload)
        if isinstance(spec := sent.get("spec"), ProgramSpec):
            key = spec.key()
            sent["spec"] = spec.to_wire()
        else:
            key = hashlib.sha256(repr(sorted(sent.items())).encode()).hexdigest()
        phase = {"diagnose": "run", "ir": "compile"}.get(op, "trace")
        answer, _, _ = await self._exchange(["ask", op, sent], leaves, deadline_s, phase, key)
        return answer

    async def _exchange(
        self, message: list[Any], arrays: Sequence[np.ndarray], limit: float, phase: str, key: str
    ) -> tuple[Any, list[np.ndarray], Link]:
        dispatch = self._dispatch
        dispatch.admit(key)
        deaths = Deaths(dispatch, key)
        while True:
            link = await dispatch.compiler(light=message[0] == "ask")
            try:
                payload, results = await dispatch.call(link, message, arrays, limit, phase)
            except WorkerDied as death:
                deaths.count(death)
            else:
                return payload, results, link

    def _holder(self, lowering: Lowering) -> Link | None:
        for link in self._dispatch.compiling():
            if link.serial == lowering.token[0]:
                return link
        return None
