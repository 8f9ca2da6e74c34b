"""What this machine is, told without JAX: the API process asks before a worker loads anything."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from app.sparse.kernels import build

_PROCESSES = {"pool", "worker", "sandbox"}
"""Folders that run programs and have no say in what they are."""


@lru_cache(maxsize=1)
def cpu_features() -> str:
    """SHA-256 of the CPU's feature flags; of its machine name where the kernel tells none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    words = sorted(flags.partition(":")[2].split()) or [os.uname().machine]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


@lru_cache(maxsize=2)
def _here(native: bool) -> dict[str, str]:
    return {
        "jax": version("jax"),
        "jaxlib": version("jaxlib"),
        "cpu": cpu_features(),
        "kernels": build.digest() if native and build.find() else "portable",
    }


@lru_cache(maxsize=1)
def code_version() -> str:
    """SHA-256 of the code that turns a function into a program: when it changes, so may programs.

    A stored program of older rules is then a miss, never a wrong answer. About 10 ms, once.
    """
    package = Path(__file__).parent.parent
    files = sorted(
        file
        for folder in ("compute", "sparse")
        for file in (package / folder).rglob("*.py")
        if not _PROCESSES & set(file.relative_to(package).parts)
    )
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    digest.update((package / "compute" / "language" / "names.json").read_bytes())
    return digest.hexdigest()


def variant(native: bool = True) -> str:
    """Tells hosts apart that cannot run each other's executables: 16 hex digits.

    ``native``: whether the C++ sparse kernels may be used.
    """
    return hashlib.sha256(repr(sorted(_here(native).items())).encode()).hexdigest()[:16]


def runs_here(meta: Mapping[str, Any], native: bool = True) -> bool:
    """Whether a program's metadata names this CPU, these versions of JAX and these kernels."""
    made_for = meta.get("identity", {})
    return all(made_for.get(name) == value for name, value in _here(native).items())
