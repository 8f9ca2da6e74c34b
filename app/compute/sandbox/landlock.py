"""Landlock: after this a worker reads Python and its libraries, and reaches no other file.

Applied before any thread starts: a domain binds the calling thread and what it makes later.
Constants are those of ``linux/landlock.h``; the numbers are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

from app.compute.sandbox import libc

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
RULE_PATH_BENEATH = 1

READ_FILE, READ_DIR = 1 << 2, 1 << 3
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many access rights on files each version of the interface knows, from bit 0 up."""
NETWORK_RIGHTS = 0b11
SCOPES = 0b11
"""TCP bind and connect (version 4); abstract sockets and signals out of the domain (6)."""

SYSTEM_PATHS = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm",
    "/proc/self",
    "/sys/devices/system",
    "/sys/kernel/mm/transparent_hugepage",
)


def version() -> int:
    """The version of Landlock that the kernel offers; 0 where it has none."""
    try:
        return libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(VERSION_FLAG))
    except OSError:
        return 0


def readable_paths() -> list[str]:
    """What a worker may read: the interpreter, its packages, this package, system libraries."""
    package = Path(__file__).parents[2]
    python = [Path(prefix) / "lib" for prefix in (sys.prefix, sys.base_prefix)]
    packages = [Path(entry) for entry in sys.path if entry.endswith("-packages")]
    return [*SYSTEM_PATHS, *map(str, {package, *python, *packages})]


def restrict() -> None:
    """Enter the domain, for good; raises ``OSError`` where Landlock is missing.

    ``PR_SET_NO_NEW_PRIVS`` must have been set.
    """
    known = version()
    if known == 0:
        raise OSError("Landlock is not available")
    handled = (1 << FILE_RIGHTS.get(known, 16)) - 1
    attributes = struct.pack("=Q", handled)
    if known >= 4:
        attributes += struct.pack("=Q", NETWORK_RIGHTS)
    if known >= 6:
        attributes += struct.pack("=Q", SCOPES)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = libc.syscall(
        CREATE_RULESET, ctypes.byref(buffer), ctypes.c_size_t(len(attributes)), ctypes.c_uint(0)
    )
    try:
        for path in readable_paths():
            _allow_reading(ruleset, path)
        libc.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow_reading(ruleset: int, path: str) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
        buffer = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        libc.syscall(
            ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(RULE_PATH_BENEATH),
            ctypes.byref(buffer),
            ctypes.c_uint(0),
        )
    finally:
        os.close(descriptor)
