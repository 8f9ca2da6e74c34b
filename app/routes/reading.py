"""Reading request bodies: whole or chunked, compressed or not, bounded in bytes and time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from app.core.codec import compression
from app.core.codec.documents import Media
from app.core.errors import RequestTimeout, TooLarge, UnsupportedMediaType

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_REFUSED = re.compile(r";\s*q=0(?:\.0*)?\s*(?:;|$)")
"""A media range of Accept with the weight 0: the client does not take it."""

MSGPACK_TYPES = ("application/msgpack", "application/x-msgpack", "application/vnd.msgpack")
_JSON = b"application/json"


class Disconnected(Exception):
    """The client went away before its body was whole: there is nobody to answer."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The most bytes of a body, before and after unpacking, and the seconds it may take."""

    bytes: int
    seconds: float


async def read_body(headers: dict[bytes, bytes], receive: Receive, limits: BodyLimits) -> bytes:
    """The whole body, unpacked; raises TooLarge, RequestTimeout, InvalidBody, Disconnected."""
    try:
        async with asyncio.timeout(limits.seconds):
            body = await gather(headers, receive, limits)
    except TimeoutError:
        raise _too_late(limits) from None
    return await unpack(body, headers, limits)


async def unpack(body: bytes, headers: dict[bytes, bytes], limits: BodyLimits) -> bytes:
    """A body as it was before it was compressed; raises TooLarge, InvalidBody."""
    encoding = headers.get(b"content-encoding")
    if encoding is None:
        return body
    names = encoding.decode("latin-1")
    return await asyncio.to_thread(compression.decompress, body, names, limits.bytes)


async def gather(headers: dict[bytes, bytes], receive: Receive, limits: BodyLimits) -> bytes:
    """The body as it was sent, however long that takes; raises TooLarge, Disconnected."""
    announced = headers.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > limits.bytes:
        raise _too_large(limits)
    pieces: list[bytes] = []
    total, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece = message.get("body", b"")
        total += len(piece)
        if total > limits.bytes:
            raise _too_large(limits)
        pieces.append(piece)
        more = message.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_large(limits: BodyLimits) -> TooLarge:
    return TooLarge(
        f"The body is larger than {limits.bytes} bytes",
        hint="Send msgpack, or upload arrays one by one with POST /v1/arrays",
    )


def _too_late(limits: BodyLimits) -> RequestTimeout:
    return RequestTimeout(f"The body did not arrive within {limits.seconds:g} s")


class Watch:
    """Ends a request whose body stays out, or whose client has gone: nobody awaits its work.

    One timer does both. It looks first after ``PATIENCE_S``, for most calls are over by then.
    """

    PATIENCE_S = 0.2

    def __init__(self, receive: Receive, limits: BodyLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._whole = False
        self._ended: Exception | None = None
        self._watching: asyncio.Task[None] | None = None

    def __enter__(self) -> Watch:
        self._loop = asyncio.get_running_loop()
        self._working = asyncio.current_task()
        self._first_s = min(self.PATIENCE_S, self._limits.seconds)
        self._late = False
        self._timer = self._loop.call_later(self._first_s, self._look)
        return self

    def arrived(self) -> None:
        """The body is whole: from now on only a disconnect can come."""
        self._whole = True
        if self._late:
            self._timer.cancel()
            self._timer = self._loop.call_later(self.PATIENCE_S, self._look)

    def _look(self) -> None:
        if self._whole:
            self._watching = self._loop.create_task(self._until_it_leaves())
            return
        self._late = True
        left = self._limits.seconds - self._first_s
        self._timer = self._loop.call_later(left, self._end, _too_late(self._limits))

    async def _until_it_leaves(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._end(Disconnected())

    def _end(self, reason: Exception) -> None:
        self._ended = reason
        if self._working is not None:
            self._working.cancel()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()
        if kind is asyncio.CancelledError and self._ended is not None:
            if self._working is not None:
                self._working.uncancel()
            raise self._ended from None


def media_of(headers: dict[bytes, bytes]) -> Media:
    """What a call's body is: msgpack where Content-Type says so, else JSON whatever it says.

    curl's default type and a missing one must work; only types of another kind of data, such as
    images or octet streams, are refused.
    """
    given = headers.get(b"content-type", _JSON)
    if given == _JSON:
        return "json"
    kind = given.split(b";")[0].strip().lower().decode("latin-1")
    if kind in MSGPACK_TYPES:
        return "msgpack"
    if kind.startswith(("image/", "audio/", "video/", "multipart/")) or kind in (
        "application/octet-stream",
        "application/zip",
        "application/gzip",
    ):
        raise UnsupportedMediaType(
            f"{kind} is not a call", hint="Send application/json or application/msgpack"
        )
    return "json"


def accepted(headers: dict[bytes, bytes], body: Media) -> Media:
    """What to answer with: as Accept says, else as the body came."""
    given = headers.get(b"accept")
    if given is None:
        return body
    accept = given.decode("latin-1").lower()
    wanted = [each for each in accept.split(",") if not _REFUSED.search(each)]
    if any(kind in each for kind in MSGPACK_TYPES for each in wanted):
        return "msgpack"
    if any("json" in each for each in wanted):
        return "json"
    return "json" if any(kind in accept for kind in MSGPACK_TYPES) else body
