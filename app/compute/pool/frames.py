"""The frame between the pool and a worker: a fixed head, a msgpack message, raw arrays.

    head      <QII   bytes that follow, request number, bytes of the message
    message   msgpack list; its last item describes the arrays: [dtype code, offset, shape]
    arrays    one after the other, each padded to 8 bytes; those with an offset lie in the arena

Both processes use this module; nothing here imports JAX.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import msgpack
import numpy as np

from app.compute.pool.arena import Arena
from app.core.values import DTYPES

HEAD = struct.Struct("<QII")
INLINE = 1 << 16
"""Arrays of more bytes than this go through shared memory where it has room."""
FRAME_LIMIT = 1 << 32

DTYPE_LIST = tuple(DTYPES.values())
CODES = {dtype: code for code, dtype in enumerate(DTYPE_LIST)}
PADS = tuple(bytes(-size % 8) for size in range(8))


class FrameError(Exception):
    """The other side sent bytes that are not a frame."""


def pack(
    number: int,
    message: list[Any],
    arrays: Sequence[np.ndarray],
    offsets: Sequence[int] | None = None,
) -> bytes:
    """One frame. ``offsets`` holds, per array, its place in the arena or -1 for inline."""
    if offsets is None:
        places = [[CODES[array.dtype], -1, array.shape] for array in arrays]
    else:
        places = [
            [CODES[array.dtype], offset, array.shape]
            for array, offset in zip(arrays, offsets, strict=True)
        ]
    header: bytes = msgpack.packb([*message, places])  # pyright: ignore[reportAssignmentType]
    width = len(header)
    parts = [b"", header, PADS[width % 8]]
    length = width + len(parts[2])
    for place, array in zip(places, arrays, strict=True):
        if place[1] < 0:
            raw = array.tobytes()
            pad = PADS[len(raw) % 8]
            parts += (raw, pad)
            length += len(raw) + len(pad)
    parts[0] = HEAD.pack(length, number, width)
    return b"".join(parts)


def reserve(arena: Arena, arrays: Sequence[np.ndarray]) -> list[int] | None:
    """Room in the arena for the arrays that are too large to go inline; ``None`` if none is."""
    if all(array.nbytes <= INLINE for array in arrays):
        return None
    offsets = []
    for array in arrays:
        offset = arena.allocate(array.nbytes) if array.nbytes > INLINE else None
        offsets.append(-1 if offset is None else offset)
    return offsets


def fill(arena: Arena, arrays: Sequence[np.ndarray], offsets: Sequence[int]) -> None:
    """Copy the arrays that have a place in the arena there."""
    for array, offset in zip(arrays, offsets, strict=True):
        if offset >= 0:
            place = np.frombuffer(arena.view, array.dtype, array.size, offset)
            np.copyto(place.reshape(array.shape), array)


class FrameReader:
    """Frames out of a stream of bytes.

    Inline arrays are views of the bytes received, others of the arena; ``adopt`` is told the
    latter and their offsets, to learn when they are let go.
    """

    def __init__(
        self, arena: Arena, adopt: Callable[[np.ndarray, int], None] | None = None
    ) -> None:
        self._view = arena.view
        self._adopt = adopt
        self._pending = bytearray()
        self._need = 0

    def feed(self, data: bytes) -> list[tuple[int, list[Any], list[np.ndarray]]]:
        """The frames that are complete now: number, message, arrays (``FrameError`` if broken)."""
        if self._pending:
            self._pending += data
            if len(self._pending) < self._need:
                return []
            data = bytes(self._pending)
            self._pending.clear()
        frames = []
        start, size = 0, len(data)
        while size - start >= HEAD.size:
            length, number, width = HEAD.unpack_from(data, start)
            body = start + HEAD.size
            if length > FRAME_LIMIT or width > length:
                raise FrameError(f"a frame of {length} bytes with a message of {width}")
            if body + length > size:
                self._need = HEAD.size + length
                break
            frames.append((number, *self._decode(data, body, width)))
            start = body + length
        else:
            self._need = HEAD.size
        if start < size:
            self._pending += memoryview(data)[start:]
        return frames

    def _decode(self, data: bytes, body: int, width: int) -> tuple[list[Any], list[np.ndarray]]:
        try:
            message = msgpack.unpackb(data[body : body + width])
            places = message.pop()
            if not places:
                return message, []
            arrays = []
            cursor = body + width + -width % 8
            for code, offset, shape in places:
                dtype = DTYPE_LIST[code]
                count = shape[0] if len(shape) == 1 else math.prod(shape)
                if count == 0:
                    arrays.append(np.empty(shape, dtype))
                elif offset < 0:
                    array = np.frombuffer(data, dtype, count, cursor)
                    cursor += (array.nbytes + 7) & -8
                    arrays.append(array if len(shape) == 1 else array.reshape(shape))
                else:
                    array = np.frombuffer(self._view, dtype, count, offset)
                    if self._adopt is not None:
                        self._adopt(array, offset)
                    arrays.append(array.reshape(shape))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise FrameError(f"a broken message: {error}") from error
        return message, arrays
