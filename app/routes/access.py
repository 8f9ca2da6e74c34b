"""A request in the log: one that the server failed always, any other at the level debug."""

from __future__ import annotations

from starlette.types import Scope

from app.core import logging


def log(scope: Scope, mark: bytes, status: int, seconds: float) -> None:
    """One line: request id, method, path, status, milliseconds; nothing of what was sent."""
    line = logging.get("routes")
    write = line.warning if status >= 500 else line.debug
    write(
        "request",
        request=mark.decode(),
        method=scope["method"],
        path=scope["path"],
        status=status,
        ms=round(seconds * 1e3, 2),
    )
