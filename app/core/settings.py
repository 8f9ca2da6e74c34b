"""Every setting of the server, read once from ``GRADSERVE_*`` variables or given by the command.

``create_app(settings)`` takes one ``Settings`` and hands its parts down; nothing else reads the
environment. Sizes are bytes, times are seconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def default_data_dir() -> Path:
    """The user's data directory: ``$XDG_DATA_HOME/gradserve`` or ``~/.local/share/gradserve``."""
    base = os.environ.get("XDG_DATA_HOME")
    return Path(base) / "gradserve" if base else Path.home() / ".local" / "share" / "gradserve"


class Settings(BaseSettings):
    """The whole configuration; immutable once built."""

    model_config = SettingsConfigDict(env_prefix="GRADSERVE_", frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    processes: int = Field(default=1, ge=1, le=64)
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    api_keys: tuple[SecretStr, ...] = ()
    insecure: bool = False

    redis_url: str | None = None
    data_dir: Path = Field(default_factory=default_data_dir)
    signing_key: SecretStr | None = None
    program_cache_bytes: int = Field(default=2 * GIB, ge=MIB)
    image_memory_bytes: int = Field(default=512 * MIB, ge=MIB)
    array_memory_bytes: int = Field(default=1 * GIB, ge=MIB)

    platform: Literal["cpu", "cuda", "tpu"] = "cpu"
    devices: int = Field(default=1, ge=1, le=64)
    sparse_kernels: Literal["auto", "native", "portable"] = "auto"
    compile_workers: int = Field(default=1, ge=1, le=16)
    queue_limit: int = Field(default=256, ge=1)
    worker_memory_bytes: int = Field(default=8 * GIB, ge=GIB)
    resident_bytes: int = Field(default=1 * GIB, ge=MIB)
    sandbox: bool = True

    trace_s: float = Field(default=20.0, gt=0)
    compile_s: float = Field(default=60.0, gt=0)
    run_s: float = Field(default=30.0, gt=0)
    body_s: float = Field(default=60.0, gt=0)
    drain_s: float = Field(default=30.0, ge=0)

    run_ttl_s: float = Field(default=86_400.0, gt=0)
    async_run_s: float = Field(default=3600.0, gt=0)
    async_runs: int | None = Field(default=None, ge=1, le=256)
    async_queue: int = Field(default=1000, ge=1)
    async_queue_client: int = Field(default=250, ge=1)
    run_lease_s: float = Field(default=6.0, ge=0.5)
    heartbeat_s: float = Field(default=15.0, gt=0)

    body_bytes: int = Field(default=256 * MIB, ge=KIB)
    nesting: int = Field(default=64, ge=4, le=512)
    source_bytes: int = Field(default=64 * KIB, ge=256)
    array_bytes: int = Field(default=1 * GIB, ge=KIB)
    output_bytes: int = Field(default=256 * MIB, ge=KIB)
    program_bytes: int = Field(default=2 * GIB, ge=MIB)
    equations: int = Field(default=20_000, ge=100)
    operands: int = Field(default=512, ge=16)
    offload_bytes: int = Field(default=64 * KIB, ge=KIB)
    codec_processes: int = Field(default=1, ge=1, le=16)

    def is_loopback(self) -> bool:
        """Whether the address served is reachable from this machine alone."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")
