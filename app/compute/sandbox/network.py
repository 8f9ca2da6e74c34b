"""A network namespace with nothing in it, where the kernel lets this process make one."""

from __future__ import annotations

from app.compute.sandbox import libc


def close_network() -> bool:
    """Leave every network for good; whether that worked. Must run single-threaded.

    Without CAP_SYS_ADMIN a user namespace is needed first, which some systems forbid.
    """
    for flags in (libc.CLONE_NEWNET, libc.CLONE_NEWUSER | libc.CLONE_NEWNET):
        try:
            libc.unshare(flags)
        except OSError:
            continue
        return True
    return False
