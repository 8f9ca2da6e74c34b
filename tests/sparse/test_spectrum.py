"""A few eigenvalues on the host: closed forms, NumPy's dense answers, and every outcome."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from app.sparse.solve import spectrum as module
from app.sparse.solve.spectrum import CHOICES, Wanted, spectrum


def line(n: int) -> sp.csr_matrix:
    """The 1-D Laplacian; its eigenvalues are 4 sin²(j pi / 2(n + 1))."""
    return sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)).tocsr()


def of_line(n: int) -> np.ndarray:
    return 4 * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1))) ** 2


@pytest.mark.parametrize("n", [40, 1000])
def test_both_ends_and_the_middle_of_a_laplacian(n: int) -> None:
    exact = of_line(n)
    near = np.sort(exact[np.argsort(abs(exact - 1.0))[:4]])
    for fields, wanted in (
        ({"which": "smallest"}, exact[:4]),
        ({"which": "smallest_magnitude"}, exact[:4]),
        ({"sigma": 1.0}, near),
    ):
        w, v, residual, outcome = spectrum(line(n), Wanted(4, **fields))
        assert outcome == module.FOUND
        np.testing.assert_allclose(w, wanted, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(v.T @ v, np.eye(4), atol=1e-10)
        assert residual.max() < 1e-12
    if n == 40:
        w, _, _, _ = spectrum(line(n), Wanted(4))
        np.testing.assert_allclose(w, exact[-4:], rtol=1e-12)


def matrix(n: int, kind: str, symmetric: bool) -> np.ndarray:
    rng = np.random.default_rng(7)
    full = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.05)
    if kind == "complex":
        full = full + 1j * rng.standard_normal((n, n)) * (full != 0)
    full = full + np.diag(np.linspace(1.0, 20.0, n))
    return (full + full.conj().T) / 2 if symmetric else full


@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("which", CHOICES)
def test_agrees_with_all_eigenvalues(n: int, kind: str, symmetric: bool, which: str) -> None:
    full = matrix(n, kind, symmetric)
    every = np.linalg.eigvalsh(full) if symmetric else np.linalg.eigvals(full)
    key = abs(every) if which.endswith("magnitude") else every.real
    key = np.sort(-key if which.startswith("largest") else key)[:5]
    w, v, residual, outcome = spectrum(sp.csr_matrix(full), Wanted(5, which, symmetric=symmetric))
    assert outcome == module.FOUND
    found = abs(w) if which.endswith("magnitude") else w.real
    got = np.sort(-found if which.startswith("largest") else found)
    np.testing.assert_allclose(got, key, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(full @ v, v * w, atol=1e-8)
    assert residual.max() < 1e-9


@pytest.mark.parametrize(
    ("given", "wanted", "outcome"),
    [
        ([[1.0, 2.0], [0.0, 1.0]], Wanted(1), module.NOT_SYMMETRIC),
        ([[1.0, np.nan], [np.nan, 1.0]], Wanted(1), module.NOT_FINITE),
        (line(2000), Wanted(4, "largest", maxiter=1), module.NOT_CONVERGED),
    ],
)
def test_what_is_not_found_is_told(given, wanted: Wanted, outcome: int) -> None:
    w, v, residual, told = spectrum(sp.csr_matrix(given), wanted)
    assert told == outcome
    assert w.shape == residual.shape == (wanted.k,)
    assert np.isnan(w).any()
    assert v.shape[1] == wanted.k


def test_a_singular_matrix_has_its_zero_found() -> None:
    n = 400
    ring = sp.csr_matrix(line(n) - sp.csr_matrix(([1.0, 1.0], ([0, n - 1], [n - 1, 0])), (n, n)))
    for fields in ({"which": "smallest_magnitude"}, {"sigma": 0.0}):
        w, _, _, outcome = spectrum(ring, Wanted(1, **fields))
        assert outcome == module.FOUND
        assert abs(w[0]) < 1e-9
    zero = sp.csr_matrix((300, 300))
    w, _, _, outcome = spectrum(zero, Wanted(2, "smallest_magnitude"))
    assert outcome != module.FOUND or abs(w).max() < 1e-6
