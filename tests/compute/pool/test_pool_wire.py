"""Frames and shared memory: what goes in comes out, whatever the chunks; nonsense is refused."""

from __future__ import annotations

import contextlib
import mmap
import os

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.compute.pool.arena import KEEP, PAGE, Arena
from app.compute.pool.frames import (
    DTYPE_LIST,
    HEAD,
    INLINE,
    FrameError,
    FrameReader,
    fill,
    pack,
    reserve,
)

HALF = 1 << 22


def arenas() -> tuple[Arena, Arena]:
    descriptor = Arena.create(HALF)
    try:
        return Arena(descriptor, HALF, upper=False), Arena(descriptor, HALF, upper=True)
    finally:
        os.close(descriptor)


def of_dtype(dtype: np.dtype) -> st.SearchStrategy[np.ndarray]:
    raw = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    return raw.map(lambda array: (array % 2).astype(dtype))


ARRAYS = st.lists(st.sampled_from(DTYPE_LIST).flatmap(of_dtype), max_size=5)


@given(ARRAYS, st.integers(1, 200), st.integers(1, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_frames_survive_any_chunking(arrays: list[np.ndarray], chunk: int, number: int) -> None:
    near, _ = arenas()
    reader = FrameReader(near)
    data = pack(number, ["run", "key", None], arrays) + pack(7, ["ok", 0.5], [])
    frames = []
    for start in range(0, len(data), chunk):
        frames += reader.feed(data[start : start + chunk])
    (first, message, found), second = frames
    assert (first, message) == (number, ["run", "key", None])
    assert second == (7, ["ok", 0.5], [])
    for array, back in zip(arrays, found, strict=True):
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert back.tobytes() == array.tobytes()


def test_large_arrays_go_through_shared_memory_whatever_their_strides() -> None:
    near, far = arenas()
    told: list[int] = []
    reader = FrameReader(far, lambda array, offset: told.append(offset))
    grid = np.arange(60_000.0).reshape(200, 300)
    arrays = [grid.T, np.float64(3.0).reshape(()), grid[::2]]
    offsets = reserve(near, arrays)
    assert offsets is not None
    fill(near, arrays, offsets)
    frame = pack(1, ["x"], arrays, offsets)
    assert len(frame) < 200
    ((_, _, found),) = reader.feed(frame)
    for array, back in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(array, back)
        assert back.flags.c_contiguous
    assert told == [offset for offset in offsets if offset >= 0]
    assert all(array.ctypes.data % 64 == 0 for array in found if array.nbytes > INLINE)


def test_full_arena_falls_back_to_inline() -> None:
    near, far = arenas()
    large = np.arange(HALF // 8 - 512, dtype=np.float64)
    arrays = [large, large]
    offsets = reserve(near, arrays)
    assert offsets is not None
    assert (offsets[0], offsets[1]) == (0, -1)
    fill(near, arrays, offsets)
    ((_, _, found),) = FrameReader(far).feed(pack(1, ["x"], arrays, offsets))
    for back in found:
        np.testing.assert_array_equal(back, large)


@given(st.binary(min_size=16, max_size=200))
@settings(max_examples=200, deadline=None)
def test_nonsense_is_a_frame_error_or_waits(data: bytes) -> None:
    near, _ = arenas()
    width = len(data) - HEAD.size
    for broken in (data, HEAD.pack(width, 1, width) + data[HEAD.size :]):
        with contextlib.suppress(FrameError):
            FrameReader(near).feed(broken)


@pytest.mark.parametrize(
    "place", [[11, -1, [1 << 40]], [11, 2 * HALF, [1]], [99, -1, [1]], [11, 8]]
)
def test_arrays_beyond_the_bytes_are_refused(place: list[object]) -> None:
    import msgpack

    near, _ = arenas()
    header = msgpack.packb(["ok", 0.0, [place]])
    assert header is not None
    with pytest.raises(FrameError):
        FrameReader(near).feed(HEAD.pack(len(header), 1, len(header)) + header)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, HALF // 3)), max_size=40))
@settings(max_examples=100, deadline=None)
def test_blocks_never_overlap_and_all_comes_back(steps: list[tuple[bool, int]]) -> None:
    near, _ = arenas()
    held: dict[int, int] = {}
    for take, size in steps:
        if take or not held:
            offset = near.allocate(size)
            if offset is not None:
                assert offset % PAGE == 0
                assert offset + size <= HALF
                assert all(
                    offset + size <= start or start + length <= offset
                    for start, length in held.items()
                )
                held[offset] = size
        else:
            offset = sorted(held)[size % len(held)]
            near.release(offset)
            del held[offset]
    for offset in held:
        near.release(offset)
    assert near.used == 0
    assert near.allocate(HALF) == 0


def test_cold_pages_go_back_to_the_system() -> None:
    descriptor = Arena.create(4 * KEEP)
    arena = Arena(descriptor, 4 * KEEP, upper=False)
    offset = arena.allocate(2 * KEEP)
    assert offset is not None
    np.frombuffer(arena.view, np.uint8, 2 * KEEP, offset)[:: mmap.PAGESIZE] = 1
    taken = os.fstat(descriptor).st_blocks * 512
    arena.release(offset)
    kept = os.fstat(descriptor).st_blocks * 512
    os.close(descriptor)
    assert taken >= 2 * KEEP
    assert kept <= KEEP
