"""Builds every service from the settings, starts them in order and stops them in reverse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cache.opening import open_store
from app.cache.programs import ProgramCache
from app.cache.signing import Signer, load_or_make_key
from app.cache.store import Store, StoreLimits
from app.compute.host import variant
from app.compute.limits import EngineLimits
from app.compute.pool.local import LocalPool
from app.compute.pool.protocol import Pool
from app.compute.pool.settings import MEASURES, PoolSettings
from app.core import logging
from app.core.codec.calls import CodecLimits
from app.core.codec.offload import Offload
from app.core.settings import Settings
from app.services.array import ArrayService
from app.services.call import CallService
from app.services.function import FunctionService
from app.services.metrics import Metrics
from app.services.program import ProgramService
from app.services.run import RunService
from app.services.runs.chunks import Chunks
from app.services.runs.journal import Journal
from app.services.runs.queue import FairQueue, QueueLimits
from app.services.runs.runner import Runner, RunnerSettings
from app.services.runs.scout import Scout
from app.services.runs.work import Work


@dataclass(frozen=True, slots=True)
class Services:
    """What the routes call, and what they stand on."""

    settings: Settings
    store: Store
    pool: Pool
    cache: ProgramCache
    codec: Offload
    codec_limits: CodecLimits
    functions: FunctionService
    arrays: ArrayService
    programs: ProgramService
    calls: CallService
    runs: RunService
    metrics: Metrics

    async def start(self) -> None:
        """Start codec processes and workers; the store connects by itself, whenever it can."""
        self.codec.warm()
        await self.pool.start()
        self.runs.start()
        logging.get("server").info("ready", **self.pool.status()["sandbox"])

    async def stop(self) -> None:
        """Give runs back, let calls finish, then end every process and close the store."""
        await self.runs.stop()
        await self.pool.stop(self.settings.drain_s)
        await self.codec.close()
        await self.store.close()

    def readiness(self) -> tuple[bool, dict[str, Any]]:
        """Whether calls can be answered, and the state of every part."""
        pool = self.pool.status()
        cache = self.cache.status()
        ready = bool(pool["ready"])
        degraded = cache["store"]["state"] != "ok"
        word = "unavailable" if not ready else "degraded" if degraded else "ready"
        return ready, {"status": word, "pool": pool, **cache}


def assemble(settings: Settings) -> Services:
    """Every service, wired but not started."""
    data_dir = settings.data_dir
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    limits = StoreLimits({"prog": settings.program_cache_bytes})
    store = open_store(settings.redis_url or data_dir / "store.sqlite3", limits)
    signer = Signer(_secret(settings, data_dir))
    cache = ProgramCache(store, signer, variant(_native(settings)))
    pool = LocalPool(_pool_settings(settings))
    codec_limits = CodecLimits(settings.array_bytes, settings.nesting)
    arrays = ArrayService(store, codec_limits, settings.array_memory_bytes)
    programs = ProgramService(
        pool,
        cache,
        store,
        native_kernels=_native(settings),
        memory_bytes=settings.image_memory_bytes,
        text_s=settings.trace_s + settings.compile_s,
    )
    calls = CallService(pool, programs, arrays, run_s=settings.run_s)
    codec = Offload(settings.codec_processes, settings.offload_bytes)
    journal = Journal(store, signer, codec_limits, settings.run_ttl_s)
    runs = _runs(settings, journal, calls, programs, codec)
    return Services(
        settings=settings,
        store=store,
        pool=pool,
        cache=cache,
        codec=codec,
        codec_limits=codec_limits,
        functions=FunctionService(
            store, pool, source_bytes=settings.source_bytes, check_s=settings.trace_s
        ),
        arrays=arrays,
        programs=programs,
        calls=calls,
        runs=runs,
        metrics=Metrics(pool, cache, runs),
    )


def _runs(
    settings: Settings,
    journal: Journal,
    calls: CallService,
    programs: ProgramService,
    codec: Offload,
) -> RunService:
    queue = FairQueue(QueueLimits(settings.async_queue_client, settings.async_queue))
    # Two a device that background work may take: one is compiled while the other executes.
    slots = settings.async_runs or 2 * max(1, settings.devices - 1)
    limit_s, lease_s = settings.async_run_s, settings.run_lease_s
    work = Work(journal, calls, Chunks(journal, calls, programs, limit_s))
    runner = Runner(journal, queue, work, RunnerSettings(slots, lease_s))
    scout = Scout(journal, queue, runner, lease_s)
    return RunService(journal, queue, runner, scout, codec, limit_s)


def _native(settings: Settings) -> bool:
    return settings.sparse_kernels != "portable"


def _secret(settings: Settings, data_dir: Path) -> bytes:
    if settings.signing_key is not None:
        return settings.signing_key.get_secret_value().encode()
    return load_or_make_key(data_dir / "signing.key")


def _pool_settings(settings: Settings) -> PoolSettings:
    limits = EngineLimits(
        equations=settings.equations,
        operands=settings.operands,
        array_bytes=settings.array_bytes,
        output_bytes=settings.output_bytes,
        program_bytes=settings.program_bytes,
        native_kernels=_native(settings),
    )
    return PoolSettings(
        platform=settings.platform,
        devices=settings.devices,
        compile_workers=settings.compile_workers,
        engine_limits={name: getattr(limits, name) for name in limits.__slots__},
        sandbox=MEASURES if settings.sandbox else (),
        memory_bytes=settings.worker_memory_bytes,
        array_bytes=settings.resident_bytes,
        queue_limit=settings.queue_limit,
        trace_s=settings.trace_s,
        compile_s=settings.compile_s,
    )
