"""Numeric mode of one trace: 64-bit types or not, and full-precision products off the CPU.

Both are thread-local in JAX and hold only inside the ``with``, so no request changes them for
another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

MATMUL_PRECISION = "highest"
"""GPUs and TPUs otherwise round float32 factors to TF32 or bfloat16, without saying so."""


@contextmanager
def precision(dtype: str) -> Iterator[None]:
    """Trace in ``float64`` (64-bit types on) or ``float32`` (off) mode."""
    with jax.enable_x64(dtype == "float64"), jax.default_matmul_precision(MATMUL_PRECISION):
        yield
