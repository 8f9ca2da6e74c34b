"""The third wall: what a worker process gives up, and how much of it the kernel granted.

``enter`` runs single-threaded, right after the fork: Landlock and capabilities bind the calling
thread and its children only. ``close`` runs when the device is warm: memory is limited from there
and seccomp then reaches every thread. Each measure stands alone; one that fails is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from app.compute.sandbox import landlock, libc, privileges, rlimits, seccomp

CPU_ONLY = frozenset({"memory", "landlock"})
"""CUDA reserves address space, and accelerators' drivers read and write files of their own."""


class Wall:
    """The measures asked for, and which of them hold."""

    def __init__(self, measures: Collection[str], platform: str, memory_bytes: int) -> None:
        unfit = CPU_ONLY if platform != "cpu" else frozenset()
        self._wanted = frozenset(measures) - unfit
        self._platform = platform
        self._memory_bytes = memory_bytes
        self.held: dict[str, bool] = dict.fromkeys(measures, False)

    def enter(self, *, networkless: bool) -> None:
        """Everything that must come before the first thread."""
        if "network" in self._wanted:
            self.held["network"] = networkless
        self._apply("core", rlimits.forbid_core)
        self._apply("privileges", privileges.forbid_new)
        if {"landlock", "seccomp"} & self._wanted:
            libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
        self._apply("landlock", landlock.restrict)
        self._apply("capabilities", privileges.drop_capabilities)

    def close(self) -> None:
        """Everything that must come after the device is warm."""
        self._apply("memory", lambda: rlimits.limit_memory(self._memory_bytes))
        self._apply("files", rlimits.limit_files)
        self._apply("seccomp", lambda: seccomp.restrict(self._platform))

    def _apply(self, name: str, measure: Callable[[], None]) -> None:
        if name not in self._wanted:
            return
        try:
            measure()
        except (OSError, ValueError, KeyError, AttributeError):
            return
        self.held[name] = True
