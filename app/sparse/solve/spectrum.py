"""A few eigenvalues and vectors of a matrix on the host: ARPACK, or LAPACK where it is small.

NumPy and SciPy only, in double precision. Smallest ones are found by shift and invert, whose
factorisation converges in a few steps where plain iteration would take thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigs, eigsh

FOUND, NOT_CONVERGED, NOT_SYMMETRIC, NOT_FINITE, NOT_FACTORED = range(5)
SMALL = 256
"""Rows up to which all eigenvalues are computed and the wanted ones chosen."""
NUDGE = 1e-9
"""How far, relative to the norm, a shift moves that hits an eigenvalue."""
EPS = float(np.finfo(np.float64).eps)
UNEQUAL = 1000
"""Round-offs, relative to the norm, by which mirrored entries of a symmetric matrix may differ."""
CHOICES = ("largest_magnitude", "smallest_magnitude", "largest", "smallest")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which eigenvalues: ``k`` of them by ``which``, or nearest to ``sigma`` where it is given."""

    k: int
    which: str = "largest_magnitude"
    sigma: float | None = None
    symmetric: bool = True
    tol: float = 0.0
    maxiter: int | None = None


Pairs = tuple[Any, Any]


def spectrum(
    matrix: Any, wanted: Wanted, round_off: float = EPS
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Eigenvalues ``(k,)``, vectors ``(n, k)``, relative residuals ``(k,)`` and the outcome.

    ``matrix``: a dense array or a SciPy sparse one. Symmetric ones come in ascending order, others
    in the order asked for. What was not found is NaN. A residual is |A v - w v| over the largest
    row sum of |A|. ``round_off``: the machine epsilon of what the matrix was computed in.
    """
    n, k = matrix.shape[0], wanted.k
    if not np.isfinite(_entries(matrix)).all():
        return _nothing(n, k, NOT_FINITE)
    size = float(abs(matrix).sum(axis=1).max()) if n else 0.0
    if wanted.symmetric and _asymmetry(matrix) > UNEQUAL * round_off * size:
        return _nothing(n, k, NOT_SYMMETRIC)
    outcome = FOUND
    try:
        w, v = _small(matrix, wanted) if _is_small(n, k) else _large(matrix, wanted, size)
    except ArpackNoConvergence as partial:
        (w, v), outcome = (partial.eigenvalues, partial.eigenvectors), NOT_CONVERGED
    except (RuntimeError, MemoryError, ArpackError, np.linalg.LinAlgError):
        return _nothing(n, k, NOT_FACTORED)
    order = _order(w, wanted)[:k]
    w, v = w[order], v[:, order]
    residual = np.linalg.norm(matrix @ v - v * w, axis=0) / (size or 1.0)
    w, v, residual = _filled(w, v, residual, k)
    return w, v, residual, outcome


def _entries(matrix: Any) -> np.ndarray:
    return matrix.data if sp.issparse(matrix) else matrix


def _asymmetry(matrix: Any) -> float:
    difference = abs(matrix - matrix.conj().T)
    return float(difference.max()) if matrix.shape[0] else 0.0


def _is_small(n: int, k: int) -> bool:
    return n <= SMALL or k >= n - 1


def _small(matrix: Any, wanted: Wanted) -> Pairs:
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    return np.linalg.eigh(dense) if wanted.symmetric else np.linalg.eig(dense)


def _large(matrix: Any, wanted: Wanted, size: float) -> Pairs:
    n, k = matrix.shape[0], wanted.k
    start = np.random.default_rng(0).standard_normal(n).astype(matrix.dtype)
    ncv = min(n - 1, max(2 * k + 1, 32))
    options = {"k": k, "v0": start, "tol": wanted.tol, "maxiter": wanted.maxiter, "ncv": ncv}
    run: Any = eigsh if wanted.symmetric else eigs
    sigma = _shift(matrix, wanted, size)
    if sigma is None:
        return run(matrix, which=_plain(wanted), **options)
    at = matrix.tocsc() if sp.issparse(matrix) else matrix
    try:
        return run(at, sigma=sigma, which="LM", **options)
    except ArpackNoConvergence:
        raise
    except RuntimeError:
        # the shift is an eigenvalue: one beside it has the same neighbours
        return run(at, sigma=sigma - NUDGE * (size or 1.0), which="LM", **options)


def _plain(wanted: Wanted) -> str:
    if wanted.which == "largest_magnitude":
        return "LM"
    if wanted.which == "largest":
        return "LA" if wanted.symmetric else "LR"
    return "SR"


def _shift(matrix: Any, wanted: Wanted, size: float) -> float | None:
    """Where to invert: the shift that was given, 0, or just below the whole spectrum."""
    if wanted.sigma is not None:
        return wanted.sigma
    if wanted.which == "smallest_magnitude":
        return 0.0
    if wanted.which != "smallest" or not wanted.symmetric:
        return None
    # Gershgorin: no eigenvalue lies below every diagonal entry less the rest of its row
    centre = matrix.diagonal().real
    around = np.asarray(abs(matrix).sum(axis=1)).ravel() - abs(centre)
    return float((centre - around).min()) - 1e-6 * (size or 1.0)


def _order(w: Any, wanted: Wanted) -> np.ndarray:
    """Indices of the wanted ones, best first, or ascending among the k best where symmetric."""
    if wanted.sigma is not None:
        key = abs(w - wanted.sigma)
    elif wanted.which.endswith("magnitude"):
        key = abs(w)
    else:
        key = w.real
    # round-off must not decide between the two of a conjugate pair
    largest = float(abs(w).max(initial=0)) or 1.0
    key = np.round(key / largest, 10)
    down = wanted.sigma is None and wanted.which.startswith("largest")
    best = np.lexsort((-w.imag, -key if down else key))[: wanted.k]
    return best[np.argsort(w[best].real, kind="stable")] if wanted.symmetric else best


def _filled(w: Any, v: Any, residual: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    missing = k - len(w)
    beside = ((0, 0), (0, missing))
    return (
        np.pad(w, (0, missing), constant_values=np.nan),
        np.pad(v, beside, constant_values=np.nan),
        np.pad(residual, (0, missing), constant_values=np.nan),
    )


def _nothing(n: int, k: int, outcome: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    return np.full(k, np.nan), np.full((n, k), np.nan), np.full(k, np.nan), outcome
