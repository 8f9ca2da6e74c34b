"""seccomp: the system calls left to a worker, once its device runs.

On the CPU a list of what XLA, its compiler and Python use; everything else answers EPERM. With an
accelerator, whose driver needs many calls, a list of what is refused. x86-64 and aarch64.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from app.compute.sandbox import bpf, libc

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMN = {"x86_64": 0, "aarch64": 1}
SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER = 1
FLAG_TSYNC = 1

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CLONE_THREAD = 0x00010000
PR_SET_NAME, PR_SET_VMA = 15, 0x53564D41

ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "recvfrom": (45, 207),
    "sendto": (44, 206),
    "futex": (202, 98),
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "stat": (4, None),
    "lstat": (6, None),
    "statx": (332, 291),
    "statfs": (137, 43),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "dup": (32, 23),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "uname": (63, 160),
    "fcntl": (72, 25),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "sigaltstack": (131, 132),
    "arch_prctl": (158, None),
    "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "set_tid_address": (218, 96),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "rseq": (334, 293),
    "restart_syscall": (219, 128),
    "getcpu": (309, 168),
    "get_mempolicy": (239, 236),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
}
"""System calls without a check on their arguments: (x86-64, aarch64)."""

OPEN, OPENAT = (2, None), (257, 56)
CLONE, CLONE3, OPENAT2 = (56, 220), (435, 435), (437, 437)
TGKILL, PRCTL, PRLIMIT64, IOCTL = (234, 131), (157, 167), (302, 261), (16, 29)

REFUSED: dict[str, tuple[int | None, int | None]] = {
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "kill": (62, 129),
    "tkill": (200, 130),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "userfaultfd": (323, 282),
    "mount": (165, 40),
    "umount2": (166, 39),
    "setns": (308, 268),
    "unshare": (272, 97),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "io_uring_setup": (425, 425),
}
"""What even a worker with an accelerator is refused."""


def restrict(platform: str) -> None:
    """Install the filter on every thread, for good; raises ``OSError`` where the kernel cannot."""
    lines = _cpu_filter() if platform == "cpu" else _accelerator_filter()
    code = ctypes.create_string_buffer(lines, len(lines))
    address = ctypes.addressof(code)
    count = len(lines) // 8
    request = ctypes.create_string_buffer(struct.pack("=H6xQ", count, address), 16)
    failed_thread = libc.syscall(
        SECCOMP[libc.MACHINE],
        ctypes.c_uint(SET_MODE_FILTER),
        ctypes.c_uint(FLAG_TSYNC),
        ctypes.byref(request),
    )
    if failed_thread:
        raise OSError(errno.EBUSY, f"seccomp: thread {failed_thread} has another filter")


def _number(pair: tuple[int | None, int | None]) -> int | None:
    return pair[COLUMN[libc.MACHINE]]


def _cpu_filter() -> bytes:
    refuse = bpf.ERRNO | errno.EPERM
    lines: list[bytes] = []
    for pair in ALLOWED.values():
        if (number := _number(pair)) is not None:
            lines += bpf.block(number, [], refuse)
    for pair, checks in _checked().items():
        if (number := _number(pair)) is not None:
            lines += bpf.block(number, checks, refuse)
    lines += _prctl()
    # glibc falls back to clone, whose flags a filter can see; Python takes ENOTTY for a plain file.
    answers = {CLONE3: errno.ENOSYS, OPENAT2: errno.ENOSYS, IOCTL: errno.ENOTTY}
    numbers = {number: code for pair, code in answers.items() if (number := _number(pair))}
    lines += bpf.refusals(numbers)
    return _program(lines, refuse)


def _checked() -> dict[tuple[int | None, int | None], list[tuple[bool, bpf.Check]]]:
    reading = (bpf.JUMP_ANY_BIT, WRITING)
    return {
        OPEN: [(False, (reading[0], 1, reading[1]))],
        OPENAT: [(False, (reading[0], 2, reading[1]))],
        CLONE: [(True, (bpf.JUMP_ANY_BIT, 0, CLONE_THREAD))],
        TGKILL: [(True, (bpf.JUMP_EQUAL, 0, os.getpid()))],
        PRLIMIT64: [
            (True, (bpf.JUMP_EQUAL, 0, 0)),
            (True, (bpf.JUMP_EQUAL, 2, 0)),
        ],
    }


def _prctl() -> list[bytes]:
    number = _number(PRCTL)
    assert number is not None
    lines: list[bytes] = []
    for option in (PR_SET_NAME, PR_SET_VMA):
        # A block that does not match falls through with the number's place taken: load it again.
        lines += [
            bpf.instruction(bpf.LOAD, bpf.NUMBER),
            bpf.instruction(bpf.JUMP_EQUAL, number, 0, 3),
            bpf.instruction(bpf.LOAD, bpf.ARGUMENTS),
            bpf.instruction(bpf.JUMP_EQUAL, option, 0, 1),
            bpf.instruction(bpf.RETURN, bpf.ALLOW),
        ]
    lines.append(bpf.instruction(bpf.LOAD, bpf.NUMBER))
    return lines


def _accelerator_filter() -> bytes:
    numbers = {number: errno.EPERM for pair in REFUSED.values() if (number := _number(pair))}
    return _program(bpf.refusals(numbers), bpf.ALLOW)


def _program(lines: list[bytes], default: int) -> bytes:
    architecture = ARCHITECTURES[libc.MACHINE]
    return bpf.program(architecture, lines, default, x32=libc.MACHINE == "x86_64")
