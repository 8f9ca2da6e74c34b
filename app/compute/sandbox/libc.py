"""The system calls that Python has no function for, through ctypes. Linux only.

Nothing here decides anything; see ``wall`` for what is applied and in which order.
"""

from __future__ import annotations

import ctypes
import os
import platform

LIBC = ctypes.CDLL(None, use_errno=True)

MACHINE = platform.machine()

SIGKILL = 9
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000


def check(result: int, name: str) -> int:
    """The result of a call, or the ``OSError`` that its errno says."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def prctl(option: int, value: int) -> None:
    """``prctl(option, value, 0, 0, 0)``; raises ``OSError``."""
    arguments = [ctypes.c_ulong(item) for item in (value, 0, 0, 0)]
    check(LIBC.prctl(ctypes.c_int(option), *arguments), "prctl")


def syscall(number: int, *arguments: ctypes._SimpleCData | ctypes._CArgObject | None) -> int:
    """A raw system call; raises ``OSError``."""
    return check(LIBC.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces; raises ``OSError``."""
    check(LIBC.unshare(ctypes.c_int(flags)), "unshare")


def die_with_parent() -> None:
    """Have the kernel end this process (SIGKILL) when its parent ends."""
    prctl(PR_SET_PDEATHSIG, SIGKILL)
