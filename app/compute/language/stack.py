"""Room on Python's stack while a function is traced.

Evaluating a call takes a dozen Python frames, so the default of 1,000 would stop honest recursion
at depth 60. The limit is raised only while tracing: the parser's own bound depends on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 6_000
"""Calls between Python functions take no C stack since 3.11; what JAX adds was measured to fit."""


@contextmanager
def deep_stack() -> Iterator[None]:
    """Allow ``FRAMES`` frames within; nested uses leave the outermost to restore."""
    before = sys.getrecursionlimit()
    if before >= FRAMES:
        yield
        return
    sys.setrecursionlimit(FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
