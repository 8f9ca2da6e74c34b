"""Programs: found in memory, else in the store, else compiled once, and then kept by their id."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import msgpack

from app.cache.programs import Entry, ProgramCache
from app.cache.store import Store
from app.compute.host import runs_here
from app.compute.image import ProgramImage
from app.compute.pool.protocol import Pool
from app.compute.spec import ProgramSpec
from app.core import logging
from app.core.codec.documents import dump
from app.core.errors import NotFound, Unavailable
from app.core.ids import DIGITS, is_id
from app.services.memory import Memory

NAMESPACE = "prg"
CacheState = Literal["memory", "store", "compiled"]
_REMEMBERED_SPECS = 1024


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """An image, where it came from, seconds by phase, and on a miss what in the key was new."""

    image: ProgramImage
    cache: CacheState
    timings: Mapping[str, float] = field(default_factory=dict)
    missed: tuple[str, ...] = ()


def program_id(key: str) -> str:
    """The public id of a program: ``prg_`` and the first 32 hex digits of its key."""
    return f"prg_{key[:DIGITS]}"


class ProgramService:
    """Turns specs into images ready for the pool, compiling each once across all processes."""

    def __init__(
        self,
        pool: Pool,
        cache: ProgramCache,
        store: Store,
        *,
        memory_bytes: int,
        text_s: float,
        native_kernels: bool = True,
    ) -> None:
        self._pool = pool
        self._cache = cache
        self._store = store
        self._text_s = text_s
        self._runs_here = partial(runs_here, native=native_kernels)
        self._images: Memory[str, FoundProgram] = Memory(memory_bytes)
        self._specs: OrderedDict[str, ProgramSpec] = OrderedDict()
        self._log = logging.get("programs")

    async def find(self, spec: ProgramSpec, key: str | None = None) -> FoundProgram:
        """The program of a spec, from the nearest place that has it."""
        key = key or spec.key()
        held = self._images.get(key)
        if held is not None:
            return held
        missed = self._what_differs(spec)
        timings: dict[str, float] = {}
        started = time.perf_counter()
        entry, made = await self._cache.find_or_make(
            key, lambda: self._make(spec, key, timings), self._runs_here
        )
        compiled = made and "compile" in timings
        if not made:
            timings["find"] = time.perf_counter() - started
        origin: Literal["compiled", "store"] = "compiled" if compiled else "store"
        image = ProgramImage(key, entry.blob, entry.meta, spec, origin)
        await self._remember(image)
        return FoundProgram(image, origin, timings, missed)

    async def _make(self, spec: ProgramSpec, key: str, timings: dict[str, float]) -> Entry:
        started = time.perf_counter()
        lowering = await self._pool.lower(spec)
        timings["lower"] = time.perf_counter() - started
        entry = await self._cache.find_l2(lowering.l2, self._runs_here)
        if entry is not None:
            await self._pool.discard(lowering)
            await self._cache.link(key, lowering.l2)
            return entry
        started = time.perf_counter()
        blob = await self._pool.compile(lowering)
        timings["compile"] = time.perf_counter() - started
        await self._cache.put(key, lowering.l2, lowering.meta, blob)
        return Entry(lowering.l2, lowering.meta, blob)

    async def renew(self, image: ProgramImage) -> FoundProgram:
        """Compile anew a program whose stored executable this machine refuses to load."""
        self._log.warning("executable rejected", program=program_id(image.key))
        self._images.drop(image.key)
        timings: dict[str, float] = {}
        started = time.perf_counter()
        lowering = await self._pool.lower(image.spec)
        blob = await self._pool.compile(lowering)
        timings["compile"] = time.perf_counter() - started
        await self._cache.put(image.key, lowering.l2, lowering.meta, blob)
        fresh = ProgramImage(image.key, blob, lowering.meta, image.spec)
        await self._remember(fresh)
        return FoundProgram(fresh, "compiled", timings)

    async def spec(self, name: str) -> ProgramSpec:
        """The spec behind a program id; NotFound where it was never made or has been evicted."""
        known = self._specs.get(name)
        if known is not None:
            return known
        packed = await self._store.get(NAMESPACE, name) if is_id("prg", name) else None
        spec = None if packed is None else _unpack(packed)
        if spec is None or program_id(spec.key()) != name:
            raise NotFound(
                f"No program {name[:60]!r} is kept here",
                hint="POST /v1/programs makes one; every answer of a verb names its program",
            )
        self._keep_spec(name, spec)
        return spec

    async def text(self, name: str, stage: str) -> dict[str, Any]:
        """A program's text at a stage (jaxpr, stablehlo, hlo) with the role of each line."""
        spec = await self.spec(name)
        payload = {"spec": spec.to_wire(), "stage": stage}
        return await self._pool.ask("ir", payload, deadline_s=self._text_s)

    async def _remember(self, image: ProgramImage) -> None:
        held = FoundProgram(image, "memory")
        self._images.put(image.key, held, len(image.blob or b"") + 4096)
        await self.keep(image.spec, image.key)

    async def keep(self, spec: ProgramSpec, key: str | None = None) -> None:
        """Let a program be found by its id, compiled or not."""
        name = program_id(key or spec.key())
        if name in self._specs:
            return
        self._keep_spec(name, spec)
        try:
            await self._store.put_if_absent(NAMESPACE, name, dump(spec.to_wire(), "msgpack"))
        except Unavailable:
            self._log.info("program id is known to this process alone", program=name)

    def _keep_spec(self, name: str, spec: ProgramSpec) -> None:
        self._specs[name] = spec
        if len(self._specs) > _REMEMBERED_SPECS:
            self._specs.popitem(last=False)

    def _what_differs(self, spec: ProgramSpec) -> tuple[str, ...]:
        """The parts of the key that no recent program of the same source shares, fewest first."""
        mine = spec.digests()
        others = [
            other.digests()
            for other in reversed(self._specs.values())
            if other.source == spec.source
        ]
        if not others:
            return ("source",)
        differing = [tuple(part for part in mine if mine[part] != other[part]) for other in others]
        return min(differing, key=len)


def _unpack(packed: bytes) -> ProgramSpec | None:
    """The store is not trusted: what does not read as a spec is not there."""
    try:
        return ProgramSpec.from_wire(msgpack.unpackb(packed))
    except (ValueError, TypeError, KeyError, msgpack.UnpackException):
        return None
