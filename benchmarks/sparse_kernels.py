"""A @ x, A.T @ y and A @ X against SciPy CSR: ``python -m benchmarks.sparse_kernels [most rows]``.

Each row is the median ratio (ours / SciPy's time) of the two measured in turn; below 1 is faster.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import scipy.sparse

from app.sparse.canonical import Canonical
from app.sparse.kernels import build, library
from app.sparse.kernels.primitives import mm, sddmm, tmm

PER_ROW = 10


def uniform(n: int, rng: np.random.Generator) -> scipy.sparse.csr_array:
    rows = np.repeat(np.arange(n), PER_ROW)
    cols = rng.integers(0, n, n * PER_ROW)
    values = rng.standard_normal(n * PER_ROW)
    return scipy.sparse.csr_array(scipy.sparse.coo_array((values, (rows, cols)), (n, n)))


def banded(n: int, rng: np.random.Generator) -> scipy.sparse.csr_array:
    diagonals = rng.standard_normal((PER_ROW, n))
    matrix = scipy.sparse.dia_array((diagonals, np.arange(PER_ROW) - PER_ROW // 2), (n, n))
    return scipy.sparse.csr_array(matrix)


def power_law(n: int, rng: np.random.Generator) -> scipy.sparse.csr_array:
    counts = np.minimum(rng.zipf(1.8, n), n // 2)
    counts = np.maximum(1, (counts * (PER_ROW / counts.mean())).astype(int))
    rows = np.repeat(np.arange(n), counts)
    cols = (n * rng.random(len(rows)) ** 3).astype(int)
    values = rng.standard_normal(len(rows))
    return scipy.sparse.csr_array(scipy.sparse.coo_array((values, (rows, cols)), (n, n)))


def ratio(ours: Callable[[], object], theirs: Callable[[], object], budget: float) -> tuple:
    """(median ratio, our median seconds), measured in turn within ``budget`` seconds."""
    for _ in range(3):
        ours()
        theirs()
    pairs, began = [], time.perf_counter()
    while len(pairs) < 7 or (time.perf_counter() - began < budget and len(pairs) < 400):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        pairs.append((middle - start, time.perf_counter() - middle))
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs)


def measure(matrix: Any, dtype: str, k: int) -> dict[str, tuple]:
    """Ratios of each kernel on one matrix."""
    typed = (
        matrix.data.astype(dtype),
        matrix.indices.astype("int32"),
        matrix.indptr.astype("int32"),
    )
    shape: tuple[int, int] = matrix.shape
    matrix = scipy.sparse.csr_array(typed, shape=shape)
    own = Canonical(shape, matrix.data, matrix.indices, matrix.indptr).padded()
    parts = [jax.device_put(part) for part in (own.values, own.indices, own.indptr)]
    tail = () if k == 1 else (k,)
    x = np.random.default_rng(1).standard_normal((shape[1], *tail)).astype(dtype)
    on_device = jax.device_put(x)
    transposed = matrix.T
    calls = {name: jax.jit(f, static_argnums=4) for name, f in (("mm", mm), ("tmm", tmm))}
    result = {}
    for name, theirs in (("mm", lambda: matrix @ x), ("tmm", lambda: transposed @ x)):
        call = calls[name]
        result[name] = ratio(
            lambda call=call: call(*parts, on_device, shape).block_until_ready(), theirs, 0.6
        )
    rows = np.repeat(np.arange(shape[0]), np.diff(matrix.indptr))
    if k == 1:
        call = jax.jit(sddmm, static_argnums=4)
        result["sddmm"] = ratio(
            lambda: call(on_device, *parts[1:], on_device, shape).block_until_ready(),
            lambda: x[rows] * x[matrix.indices],
            0.3,
        )
    return result


def main(most: int) -> None:
    """Print the table."""
    jax.config.update("jax_enable_x64", True)
    build.ensure()
    print(f"kernels {library.version()}, jax {jax.__version__}, scipy {scipy.__version__}")
    print(f"{'matrix':10}{'rows':>9}{'nnz':>10}{'type':>9}{'k':>4}  ratio to SciPy (our ms)")
    rng = np.random.default_rng(0)
    for make in (uniform, banded, power_law):
        for n in (10**3, 10**4, 10**5, 10**6):
            if n > most:
                continue
            matrix = make(n, rng)
            for dtype, k in (("float64", 1), ("float32", 1), ("float64", 8), ("float64", 64)):
                if n * k > 10**7:
                    continue
                cells = measure(matrix, dtype, k)
                told = "  ".join(f"{w} {r:.2f} ({t * 1e3:.3f})" for w, (r, t) in cells.items())
                print(f"{make.__name__:10}{n:9}{matrix.nnz:10}{dtype:>9}{k:4}  {told}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**6)
