"""Ids: immutable things are named by what they are, requests and runs by a random number."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable

DIGITS = 32
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def content_id(prefix: str, parts: Iterable[bytes | memoryview]) -> str:
    """``prefix_`` and 32 hex digits of the SHA-256 of the parts, each preceded by its length."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return f"{prefix}_{digest.hexdigest()[:DIGITS]}"


def is_id(prefix: str, text: str) -> bool:
    """Whether ``text`` has the form of an id with this prefix."""
    return re.fullmatch(rf"{prefix}_[0-9a-f]{{{DIGITS}}}", text) is not None


def request_id(given: str | None) -> str:
    """The client's own request id where it is short and printable, else a new one."""
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return os.urandom(12).hex()
