"""Resource limits of a worker: memory, open files, core dumps, written files.

There is no limit on processes: it counts every process of the user, and seccomp refuses fork.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

OPEN_FILES = 256


def limit_memory(allowance: int) -> None:
    """Let the address space grow by ``allowance`` bytes from now on. Wrong for CUDA."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + allowance
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def limit_files() -> None:
    """Few open files, and none that grows by writing."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def forbid_core() -> None:
    """No core dumps: they would hold clients' data."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
