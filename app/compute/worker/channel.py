"""The worker's end of the socket: blocking, one frame after the other, answers in order."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from app.compute.pool.arena import Arena
from app.compute.pool.frames import FrameReader, fill, pack, reserve

CHUNK = 1 << 16


class Channel:
    """Frames in and out; arrays above 64 KiB go through the arena while it has room."""

    def __init__(self, stream: socket.socket, arena: Arena) -> None:
        self._stream = stream
        self._arena = arena
        self._reader = FrameReader(arena)

    def frames(self) -> Iterator[tuple[int, list[Any], list[np.ndarray]]]:
        """Every frame until the pool closes its end."""
        while data := self._stream.recv(CHUNK):
            yield from self._reader.feed(data)

    def send(self, number: int, message: list[Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """One frame; the pool later sends the offsets of its arrays to ``release``."""
        offsets = reserve(self._arena, arrays)
        if offsets is not None:
            fill(self._arena, arrays, offsets)
        self._stream.sendall(pack(number, message, arrays, offsets))

    def release(self, offsets: Sequence[int]) -> None:
        """The pool has let go of the arrays at these offsets."""
        for offset in offsets:
            self._arena.release(offset)
