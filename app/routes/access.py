"""A request in the log: one that the server failed always, any other at the level debug."""

from __future__ import annotations

from starlette.types import Scope

from app.core import logging

_LINE = logging.get("routes")
"""Made once: making a logger costs more than all else here, and this is in every request."""


def log(scope: Scope, mark: bytes, status: int, seconds: float) -> None:
    """One line: request id, method, path, status, milliseconds; nothing of what was sent."""
    write = _LINE.warning if status >= 500 else _LINE.debug
    write(
        "request",
        request=mark.decode(),
        method=scope["method"],
        path=scope["path"],
        status=status,
        ms=round(seconds * 1e3, 2),
    )
