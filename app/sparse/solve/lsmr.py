"""LSMR on the host (Fong and Saunders 2011, by SciPy), and the systems its derivatives need.

NumPy and SciPy only, in double precision. A matrix is a dense array or a SciPy sparse one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator, lsmr

SLACK = 10
"""LSMR's own measure of a residual may be this much below the true one."""
FEWEST_STEPS = 100
MOST_SCALE = 1022
"""Powers of two whose inverses are normal numbers too."""


@dataclass(frozen=True)
class Aim:
    """How far to go: ``tol`` relative to the sizes of A, x and b; ``maxiter`` steps at most."""

    damp: float
    tol: float
    maxiter: int | None

    def reached(self, miss: Any, scale: Any) -> Any:
        """Whether ``miss`` is what ``tol`` leaves of something the size of ``scale``."""
        return miss <= SLACK * self.tol * scale


def minimiser(A: Any, b: np.ndarray, aim: Aim) -> np.ndarray:
    """The x of least norm that minimises |A x - b|^2 + damp^2 |x|^2; b: (m,) or (m, k)."""
    if 0 in A.shape:
        return np.zeros((A.shape[1], *b.shape[1:]), b.dtype)
    scale = _scale(A.data if sp.issparse(A) else A)
    operator, damp = aslinearoperator(scale * A), scale * aim.damp
    if b.ndim == 1:
        return scale * _run(operator, b, aim, damp)
    return scale * np.stack([_run(operator, each, aim, damp) for each in b.T], 1)


def augmented(B: Any, right: np.ndarray, aim: Aim) -> np.ndarray:
    """[r, u] with r + B u = f and B^H r - damp^2 u = g, for right = [f, g].

    NaN where B lacks full column rank, unless damp is not 0; a right-hand side of 0 gives 0.
    """
    if not right.any():
        return right
    # r + (s B) (u / s) = f and (s B)^H r - (s damp)^2 (u / s) = s g
    scale, rows = _scale(B.data if sp.issparse(B) else B), B.shape[0]
    scaled = np.concatenate([right[:rows], scale * right[rows:]])
    one = _scale(scaled)
    found = _augmented(scale * B, one * scaled, replace(aim, damp=scale * aim.damp)) / one
    return np.concatenate([found[:rows], scale * found[rows:]])


def _augmented(B: Any, right: np.ndarray, aim: Aim) -> np.ndarray:
    """As ``augmented``, of operands of about 1."""
    f, g = right[: B.shape[0]], right[B.shape[0] :]
    stacked = _stacked(B, aim.damp)
    beside = np.zeros(g.shape if aim.damp else (0,), g.dtype)
    # z: B^H z + damp z' = -g; then u minimises |B u - (f + z)|^2 + |damp u - z'|^2
    z = _run(stacked.H, -g, aim) if g.any() else np.zeros(stacked.shape[0], g.dtype)
    u = _run(stacked, np.concatenate([f, beside]) + z, aim)
    r = f - B @ u
    size, norm = _size(B), np.linalg.norm
    miss = norm(stacked.rmatvec(np.concatenate([r, -aim.damp * u[: len(beside)]])) - g)
    sound = aim.reached(miss, norm(g) + size * (norm(f) + norm(z)))
    if not (sound and (aim.damp or _has_full_rank(stacked, size, aim))):
        return np.full_like(right, np.nan)
    return np.concatenate([r, u])


def _has_full_rank(operator: LinearOperator, size: float, aim: Aim) -> bool:
    """Whether a vector of no particular direction is within reach of the adjoint."""
    probe = np.cos(1.0 + np.arange(operator.shape[1])).astype(operator.dtype)
    found = _run(operator.H, probe, aim)
    miss = np.linalg.norm(operator.rmatvec(found) - probe)
    return bool(aim.reached(miss, size * np.linalg.norm(found) + np.linalg.norm(probe)))


def _stacked(B: Any, damp: float) -> LinearOperator:
    """[B; damp I]."""
    if not damp:
        return aslinearoperator(B)
    below = damp * sp.identity(B.shape[1], B.dtype, "csr")
    return aslinearoperator(sp.vstack([sp.csr_matrix(B), below], "csr"))


def _size(B: Any) -> float:
    return float(np.linalg.norm(B.data if sp.issparse(B) else B))


def _run(operator: LinearOperator, b: np.ndarray, aim: Aim, damp: float = 0.0) -> np.ndarray:
    if not np.isfinite(b).all():
        return np.full(operator.shape[1], np.nan, b.dtype)
    steps = aim.maxiter or max(FEWEST_STEPS, 10 * min(operator.shape))
    options = {"atol": aim.tol, "btol": aim.tol, "conlim": 0, "maxiter": steps}
    scale = _scale(b)
    with np.errstate(all="ignore"):
        return lsmr(operator, scale * b, damp=damp, **options)[0] / scale


def _scale(x: np.ndarray) -> float:
    """A power of two that brings the largest entry to about 1: lsmr takes tiny lengths for 0."""
    largest = float(abs(x).max(initial=0))
    if not 0 < largest < np.inf:
        return 1.0
    return float(np.ldexp(1.0, -np.clip(np.frexp(largest)[1], -MOST_SCALE, MOST_SCALE)))
