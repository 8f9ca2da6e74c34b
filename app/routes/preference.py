"""``Prefer: respond-async, wait=5`` (RFC 7240) and ``Idempotency-Key``, read from a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.errors import InvalidArgument

LONGEST_WAIT_S = 30.0
_KEY_BYTES = 255


@dataclass(frozen=True, slots=True)
class Preference:
    """The client would rather not wait, or no longer than ``wait_s``."""

    wait_s: float = 0.0


def preference_of(header: bytes) -> Preference | None:
    """What a ``Prefer`` header says; ``None`` where it does not ask for ``respond-async``.

    What is not understood in it is passed over, as the RFC says.
    """
    asked, wait_s = False, 0.0
    for part in header.decode("latin-1").lower().split(","):
        name, _, value = part.split(";")[0].partition("=")
        name, value = name.strip(), value.strip().strip('"')
        if name == "respond-async":
            asked = True
        elif name == "wait" and value.isdigit():
            wait_s = min(float(value), LONGEST_WAIT_S)
    return Preference(wait_s) if asked else None


def idempotency_key(headers: Mapping[bytes, bytes]) -> str | None:
    """The ``Idempotency-Key`` of a request; raises ``InvalidArgument`` where it is no key."""
    given = headers.get(b"idempotency-key")
    if given is None:
        return None
    key = given.decode("latin-1").strip()
    if not key or len(given) > _KEY_BYTES or not key.isprintable():
        raise InvalidArgument(
            f"The Idempotency-Key is empty, or longer than {_KEY_BYTES} characters",
            hint="Send a random one for each new request, such as a UUID",
        )
    return key
