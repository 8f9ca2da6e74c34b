"""Content-Encoding of request bodies: gzip, deflate and zstd, bounded as they unpack."""

from __future__ import annotations

import zlib

import zstandard

from app.core.errors import InvalidBody, TooLarge, UnsupportedMediaType

ACCEPTED = "gzip, deflate, zstd, identity"


def decompress(body: bytes, encodings: str, limit: int) -> bytes:
    """Undo every encoding named, last first; never hold more than ``limit`` bytes.

    Raises TooLarge past the limit, InvalidBody on a broken stream, UnsupportedMediaType on a
    name that is not known.
    """
    names = [name.strip().lower() for name in encodings.split(",")]
    if len(names) > 2:
        raise UnsupportedMediaType("More than two content encodings", hint=f"Use {ACCEPTED}")
    for name in reversed(names):
        body = _decompress_one(body, name, limit)
    return body


def _decompress_one(body: bytes, name: str, limit: int) -> bytes:
    if name in ("", "identity"):
        return body
    if name in ("gzip", "x-gzip"):
        return _inflate(body, zlib.MAX_WBITS | 16, limit)
    if name == "deflate":
        return _inflate(body, zlib.MAX_WBITS, limit)
    if name == "zstd":
        return _unzstd(body, limit)
    raise UnsupportedMediaType(
        f"Content-Encoding {name[:40]!r} is not known here", hint=f"Use one of {ACCEPTED}"
    )


def _inflate(body: bytes, window_bits: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    total, rest = 0, body
    try:
        while rest:
            stream = zlib.decompressobj(window_bits)
            piece = stream.decompress(rest, limit - total + 1)
            total += len(piece)
            if total > limit:
                raise _too_large(limit)
            pieces.append(piece)
            if not stream.eof:
                raise InvalidBody("The compressed body ends too early")
            rest = stream.unused_data
    except zlib.error as error:
        raise InvalidBody(f"The compressed body is broken: {error}") from None
    return b"".join(pieces)


def _unzstd(body: bytes, limit: int) -> bytes:
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            body, read_across_frames=True
        ) as reader:
            unpacked = reader.read(limit + 1)
    except zstandard.ZstdError as error:
        raise InvalidBody(f"The compressed body is broken: {error}") from None
    if len(unpacked) > limit:
        raise _too_large(limit)
    if not unpacked and body:
        raise InvalidBody("The compressed body ends too early")
    return unpacked


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The body unpacks to more than {limit} bytes",
        hint="Upload large arrays once with POST /v1/arrays and refer to them",
    )
