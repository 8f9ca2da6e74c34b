"""A block of shared memory between the pool and one worker, halved: each side writes its own half.

Blocks start on pages, so that arrays are aligned for zero-copy use by XLA. First fit from the low
end keeps the pages that are used warm; pages beyond ``KEEP`` go back to the system when freed.
Both processes use this class; nothing here imports JAX.
"""

from __future__ import annotations

import mmap
import os
from bisect import insort

PAGE = 4096
KEEP = 64 << 20


class Arena:
    """One process's view of the shared block: allocates in its half, reads the other's."""

    def __init__(self, descriptor: int, half: int, *, upper: bool) -> None:
        self._map = mmap.mmap(descriptor, 2 * half)
        self._start = half if upper else 0
        self._end = self._start + half
        self._free = [(self._start, half)]
        self._used: dict[int, int] = {}
        self.view = memoryview(self._map)

    @staticmethod
    def create(half: int) -> int:
        """A new descriptor of shared memory for two halves of this size; no page is taken yet."""
        descriptor = os.memfd_create("gradserve", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, 2 * half)
        return descriptor

    @property
    def used(self) -> int:
        """Bytes allocated in this half now."""
        return sum(self._used.values())

    def allocate(self, size: int) -> int | None:
        """The offset of a free block of ``size`` bytes, or ``None`` where none is left."""
        size = max(PAGE, -(-size // PAGE) * PAGE)
        for index, (offset, length) in enumerate(self._free):
            if length >= size:
                if length == size:
                    del self._free[index]
                else:
                    self._free[index] = (offset + size, length - size)
                self._used[offset] = size
                return offset
        return None

    def release(self, offset: int) -> None:
        """Give a block back; an offset that is not allocated is an error (``KeyError``)."""
        size = self._used.pop(offset)
        warm = self._start + KEEP
        if offset + size > warm:
            cold = max(offset, warm)
            self._map.madvise(mmap.MADV_REMOVE, cold, offset + size - cold)
        insort(self._free, (offset, size))
        self._merge()

    def _merge(self) -> None:
        merged: list[tuple[int, int]] = []
        for offset, size in self._free:
            if merged and merged[-1][0] + merged[-1][1] == offset:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((offset, size))
        self._free = merged
