"""Sparse products and their gradients against SciPy's CSR and jax.experimental.sparse.

Each figure of a row is the worst over three kinds of matrices and two types; the notes have all.
Everything is resident: this is the kernel and the call of a compiled function, no HTTP.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.sparse import BCOO, BCSR

from app.sparse.kernels import build, library
from app.sparse.matrix import from_canonical
from benchmarks import matrices
from benchmarks.programs import seconds
from benchmarks.rows import Findings, Growth, Row, Turns, within

SIZES = (10**3, 10**4, 10**5, 10**6)
KINDS = (matrices.uniform, matrices.banded, matrices.power_law)
TYPES = ("float64", "float32")
MOST = 10**7
"""Numbers in a dense operand."""
PEER_ENTRIES = 2 * 10**7
"""Products of jax.experimental.sparse larger than this take seconds, and are left out."""
BUDGET_S, PEER_S = 0.6, 0.25

Matrix = Any


@dataclass(frozen=True)
class Operation:
    """One kind of product: what is asked of JAX, of SciPy, and the target by size."""

    name: str
    columns: int
    jax: Callable[[Matrix, Any], Any]
    scipy: Callable[[Matrix, Any], Any]
    targets: Mapping[int, tuple[float, float]]


def _gradient(A: Matrix, y: Any) -> Any:
    return jax.grad(lambda x: jnp.vdot(y, A @ x))(jnp.zeros_like(y))


VECTOR = {10**3: (2.0, 1.3), 10**4: (2.0, 1.3), 10**5: (1.1, 0.7), 10**6: (1.1, 0.7)}
COLUMNS: dict[int, tuple[float, float]] = dict.fromkeys(SIZES, (0.8, 0.4))
OPERATIONS = (
    Operation("A @ x", 1, lambda A, x: A @ x, lambda A, x: A @ x, VECTOR),
    Operation("A @ X, 8 columns", 8, lambda A, X: A @ X, lambda A, X: A @ X, COLUMNS),
    Operation("A @ X, 64 columns", 64, lambda A, X: A @ X, lambda A, X: A @ X, COLUMNS),
    Operation("gradient of y·(A @ x) in x", 1, _gradient, lambda A, y: A.T @ y, VECTOR),
)


@dataclass(frozen=True)
class Figure:
    """Our time over SciPy's, and each peer's over SciPy's."""

    operation: str
    kind: str
    dtype: str
    n: int
    ratio: float
    ours_s: float
    theirs_s: float
    peers: Mapping[str, float]


def measure(directory: Path) -> Findings:
    """All rows about sparse products."""
    jax.config.update("jax_enable_x64", True)
    build.ensure()
    figures = list(_figures())
    rows = [row for operation in OPERATIONS for n in SIZES if (row := _row(operation, n, figures))]
    growths = [
        Growth(f"{operation.name}, uniform, float64", {f.n: f.ours_s for f in some})
        for operation in OPERATIONS
        if (some := _select(figures, operation.name, "uniform", "float64"))
    ]
    kernels = "pure JAX" if library.version() == "portable" else "C++"
    return Findings(rows, growths, [f"sparse kernels: {kernels}", *_notes(figures)])


def _figures() -> Iterator[Figure]:
    for n in SIZES:
        for make in KINDS:
            matrix = make(n)
            for dtype in TYPES:
                typed = matrix.astype(dtype)
                for operation in OPERATIONS:
                    if n * operation.columns <= MOST:
                        yield _figure(typed, operation, make.__name__)


def _figure(matrix: Matrix, operation: Operation, kind: str) -> Figure:
    n, dtype = matrix.shape[0], matrix.dtype
    A = jax.device_put(from_canonical(matrices.canonical(matrix)))
    tail = () if operation.columns == 1 else (operation.columns,)
    x = np.random.default_rng(1).standard_normal((n, *tail)).astype(dtype)
    X = jax.device_put(x)
    product = jax.jit(operation.jax)
    right = operation.scipy(matrix, x)
    np.testing.assert_allclose(product(A, X), right, rtol=1e-3, atol=1e-3 * np.abs(right).max())
    ours = partial(seconds, lambda: product(A, X).block_until_ready())
    turns = within(
        BUDGET_S, {"ours": ours, "scipy": partial(seconds, lambda: operation.scipy(matrix, x))}
    )
    peers = (
        _peers(matrix, operation, X, turns)
        if matrix.nnz * operation.columns <= PEER_ENTRIES
        else {}
    )
    scipy = turns.median("scipy")
    return Figure(
        operation.name,
        kind,
        dtype.name,
        n,
        turns.ratio("ours", "scipy"),
        turns.median("ours"),
        scipy,
        peers,
    )


def _peers(matrix: Matrix, operation: Operation, X: Any, turns: Turns) -> dict[str, float]:
    """The classes of jax.experimental.sparse on the same operands, over SciPy's median."""
    product = jax.jit(operation.jax)
    found = {}
    for peer in (BCOO, BCSR):
        A = peer.from_scipy_sparse(matrix)
        call = partial(seconds, lambda A=A: product(A, X).block_until_ready())
        found[peer.__name__] = within(PEER_S, {"peer": call}, 3).median("peer") / turns.median(
            "scipy"
        )
    return found


def _select(figures: list[Figure], operation: str, kind: str, dtype: str) -> list[Figure]:
    wanted = (operation, kind, dtype)
    return [f for f in figures if (f.operation, f.kind, f.dtype) == wanted]


def _row(operation: Operation, n: int, figures: list[Figure]) -> Row | None:
    some = [f for f in figures if (f.operation, f.n) == (operation.name, n)]
    if not some:
        return None
    worst = max(some, key=lambda f: f.ratio)
    middle = statistics.median(f.ratio for f in some)
    must, stretch = operation.targets[n]
    return Row(
        f"sparse {operation.name}, 10^{round(math.log10(n))} rows",
        "SciPy CSR, one thread",
        worst.ratio,
        must,
        stretch,
        worst.ours_s,
        worst.theirs_s,
        note=f"worst of {len(some)}, {worst.kind} {worst.dtype}; median {middle:.2f}",
    )


def _notes(figures: list[Figure]) -> list[str]:
    """One line an operation, kind and type: ratios to SciPy's time by size, ours and the peers'."""
    notes = []
    for operation in OPERATIONS:
        for make in KINDS:
            for dtype in TYPES:
                some = _select(figures, operation.name, make.__name__, dtype)
                told = ", ".join(f"{f.ratio:.2f}" for f in some)
                peers = "; ".join(
                    f"{name} " + ", ".join(f"{f.peers[name]:.1f}" for f in some if name in f.peers)
                    for name in ("BCOO", "BCSR")
                )
                notes.append(f"{operation.name}, {make.__name__}, {dtype}: {told} by size; {peers}")
    return notes
