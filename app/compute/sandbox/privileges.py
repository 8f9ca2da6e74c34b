"""Privileges given up by a worker: no new ones, no capabilities, no inspection by its peers."""

from __future__ import annotations

import ctypes
import struct

from app.compute.sandbox import libc

CAPSET = {"x86_64": 126, "aarch64": 91}
CAPABILITY_VERSION_3 = 0x20080522


def forbid_new() -> None:
    """No new privileges through exec, no core dump, no ptrace by processes of the same user."""
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    libc.prctl(libc.PR_SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Give up every capability of the calling thread (threads made later have none either)."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITY_VERSION_3, 0))
    nothing = ctypes.create_string_buffer(24)
    libc.syscall(CAPSET[libc.MACHINE], ctypes.byref(header), ctypes.byref(nothing))
