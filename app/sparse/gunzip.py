"""Decompress gzip within a bound: a bomb costs the bound, not what it would unfold to."""

from __future__ import annotations

import zlib

from app.core.errors import InvalidBody, TooLarge


def gunzip(data: bytes, max_bytes: int) -> bytes:
    """The content of all gzip members; raises TooLarge past ``max_bytes``, or InvalidBody."""
    pieces, left = [], max_bytes
    while data.startswith(b"\x1f\x8b"):
        stream = zlib.decompressobj(wbits=31)
        try:
            piece = stream.decompress(data, left + 1)
        except zlib.error as error:
            raise InvalidBody(f"the gzip stream is broken: {error}") from None
        if len(piece) > left:
            raise TooLarge(f"unpacked, the file passes the limit of {max_bytes} bytes")
        if not stream.eof:
            raise InvalidBody("the gzip stream is cut off")
        pieces.append(piece)
        left -= len(piece)
        data = stream.unused_data.lstrip(b"\0")
    return b"".join(pieces)
