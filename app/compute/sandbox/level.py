"""How much of the process wall stands, in one word. The API process shows it; no system calls."""

from __future__ import annotations

from collections.abc import Mapping


def level(held: Mapping[str, bool]) -> str:
    """``full``, ``partial``, ``rlimits`` or ``none``: how much of the wall stands.

    Full needs the filter on files, the filter on system calls (which closes the network too) and
    no new privileges. With neither filter it is rlimits.
    """
    filters = [held.get(name, False) for name in ("landlock", "seccomp", "privileges")]
    if all(filters):
        return "full"
    if any(filters[:2]):
        return "partial"
    return "rlimits" if any(held.values()) else "none"
