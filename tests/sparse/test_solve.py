"""Sparse solves against NumPy and SciPy: values, derivatives, outcomes, kept factors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from app.core.errors import InvalidArgument
from app.sparse.ingest import ingest
from app.sparse.matrix import SparseMatrix, from_canonical
from app.sparse.solve.eigen import eigen
from app.sparse.solve.kept import FactorCache, digest
from app.sparse.solve.linear import Options, linear_solve, sound_solution
from app.sparse.solve.spectrum import Wanted
from tests.sparse.matrices import dense_of, value_of


def matrix(dense, layout="csr"):
    dense = np.asarray(dense)
    rows, cols = np.nonzero(dense)
    return from_canonical(ingest(value_of(layout, rows, cols, dense[rows, cols], dense.shape)))


POISSON = 2.1 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)
GENERAL = POISSON + 0.3 * np.eye(9, k=2)


PAIRS = [("direct", "none"), ("cg", "jacobi"), ("gmres", "ilu"), ("bicgstab", "none")]


@pytest.mark.parametrize(("method", "preconditioner"), PAIRS)
def test_solves(method, preconditioner):
    full = POISSON if method == "cg" else GENERAL
    b = np.random.default_rng(0).standard_normal((9, 2))
    for rhs in (b[:, 0], b):
        solve = jax.jit(linear_solve, static_argnums=2)
        got = solve(matrix(full), rhs, Options(method, preconditioner))
        np.testing.assert_allclose(got.x, np.linalg.solve(full, rhs), rtol=1e-6)
        assert got.outcome == 0
        assert np.all(got.residual < 1e-8)


@pytest.mark.parametrize(("method", "preconditioner"), [("direct", "none"), ("bicgstab", "ilu")])
def test_implicit_derivatives(method, preconditioner):
    A = matrix(GENERAL)
    b = np.random.default_rng(1).standard_normal(9)
    rows, cols = (np.asarray(part) for part in A.coordinates())

    def ours(values, b):
        M = SparseMatrix(values, A.indices, A.indptr, A.shape)
        return jnp.sum(linear_solve(M, b, Options(method, preconditioner, tol=1e-13)).x ** 2)

    def dense(values, b):
        full = jnp.zeros(A.shape).at[rows, cols].add(values, mode="drop")
        return jnp.sum(jnp.linalg.solve(full, b) ** 2)

    real = rows < 9
    got, want = (jax.grad(f, (0, 1))(A.values, b) for f in (ours, dense))
    np.testing.assert_allclose(got[0][real], want[0][real], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-6, atol=1e-8)
    if method == "direct":
        tangents = (np.cos(A.values), np.sin(b))
        second = [jax.jvp(jax.grad(f), (A.values, b), tangents)[1] for f in (ours, dense)]
        np.testing.assert_allclose(second[0][real], second[1][real], rtol=1e-8, atol=1e-9)


def test_transposed_and_many():
    A = matrix(GENERAL)
    b = np.random.default_rng(2).standard_normal((4, 9))
    got = jax.vmap(lambda rhs: linear_solve(A.T, rhs).x)(b)
    np.testing.assert_allclose(got, np.linalg.solve(GENERAL.T, b.T).T, rtol=1e-10)


def test_singular_is_an_outcome():
    for full, b in (
        ([[1.0, 2.0], [2.0, 4.0]], [1.0, 3.0]),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0]),
    ):
        assert linear_solve(matrix(full), np.array(b)).outcome == 2
    slow = linear_solve(matrix(POISSON), np.arange(9.0), Options("cg", maxiter=2))
    assert slow.outcome == 1


CASES = {
    "hilbert": (scipy.linalg.hilbert(8), np.ones(8), scipy.linalg.invhilbert(8).sum(1), 1e-6),
    "scaled": ([[1e-150, 2e-150], [3e150, 4e150]], [5e-150, 1.1e151], [1.0, 2.0], 1e-12),
    "indefinite": ([[2.0, 0, 1], [0, 2, 1], [1, 1, 0]], [1.0, 1, 1], [0.5, 0.5, 0], 1e-12),
    "complex": ([[1 + 1j, -1], [-1, 1 + 1j]], [1.0 + 0j, 0], [0.2 - 0.6j, -0.2 - 0.4j], 1e-12),
}


@pytest.mark.parametrize("name", CASES)
def test_known_systems(name):
    full, b, x, rtol = CASES[name]
    got = linear_solve(matrix(full), np.asarray(b))
    np.testing.assert_allclose(got.x, x, rtol=rtol, atol=1e-12)


def test_factors_are_kept_by_content():
    kept = FactorCache(max_bytes=1)
    A = matrix(GENERAL)
    parts = tuple(np.asarray(part) for part in (A.values, A.indices, A.indptr))
    first = kept.get(*parts)
    assert kept.get(*(part.copy() for part in parts)) is first
    kept.get(parts[0] * 2, *parts[1:])
    assert kept.factored == 2
    assert kept.get(*parts) is not first
    np.testing.assert_allclose(GENERAL @ first.solve(np.ones(9), False), np.ones(9))


def test_incomplete_factors_save_steps_where_jacobi_saves_none():
    """A convection-diffusion line: 3 steps do with ILU, and not without."""
    n = 60
    solve = jax.jit(linear_solve, static_argnums=2)
    full = 2 * np.eye(n) - 1.9 * np.eye(n, k=1) - 0.1 * np.eye(n, k=-1)
    outcomes = {}
    for name in ("jacobi", "ilu"):
        options = Options("bicgstab", name, maxiter=3)
        outcomes[name] = int(solve(matrix(full), np.ones(n), options).outcome)
    assert outcomes == {"jacobi": 1, "ilu": 0}


def test_incomplete_factors_are_kept_beside_whole_ones():
    kept = FactorCache()
    A = matrix(GENERAL)
    parts = tuple(np.asarray(part) for part in (A.values, A.indices, A.indptr))
    key = digest(*parts)
    whole = kept.get(*parts)
    found = [kept.at(key, lambda: parts, incomplete=True) for _ in range(2)]
    assert found[0] is found[1]
    assert found[0] is not whole
    assert kept.factored == 2


def test_shapes_are_checked():
    with pytest.raises(InvalidArgument):
        linear_solve(matrix(GENERAL[:3]), np.ones(3))
    with pytest.raises(InvalidArgument):
        linear_solve(matrix(GENERAL), np.ones(3))
    assert dense_of(value_of("csr", [0], [0], [1.0], (1, 1))).shape == (1, 1)


EXTREMES = [(None, 1e-200), ("sparse", 1e200)]
METHOD_NAMES = ("cg", "gmres", "bicgstab", "lsmr")


@pytest.mark.parametrize(("kind", "size"), EXTREMES)
def test_sides_of_any_size(kind, size):
    """A x = b for b, and for A, whose squares vanish or overflow; x is linear in b."""
    A = matrix(POISSON) if kind else jnp.asarray(POISSON)
    b = np.array([1.0, 1, 0, 2, -1, 0, 0, 3, 1])
    want = np.linalg.solve(POISSON, b)
    scaled = A.map(lambda x: size * x) if kind else size * A
    small = A.map(lambda x: x.astype(np.float32)) if kind else A.astype(np.float32)
    b32 = np.array(1e-23 if size < 1 else 1e20, np.float32)

    @jax.jit
    def every(A, small, scaled, b):
        found = []
        for method in METHOD_NAMES:
            options = Options(method)
            pairs = ((scaled, b), (small, b32 * b.astype(np.float32)))
            solved, pull = jax.vjp(lambda b, o=options: sound_solution(A, b, o).x, size * b)
            more = [sound_solution(*pair, options) for pair in pairs]
            found.append((more, solved, pull(size * b)[0]))
        return found

    for method, (solved, x, slope) in zip(METHOD_NAMES, every(A, small, scaled, b), strict=True):
        for found, by, rtol in zip(solved, (1 / size, b32), (1e-7, 1e-3), strict=True):
            np.testing.assert_allclose(found.x / by, want, rtol=rtol, err_msg=method)
            assert found.outcome == 0, method
            assert found.residual < 100 * rtol, method
        np.testing.assert_allclose(x / size, want, rtol=1e-7, err_msg=method)
        # the cotangent is b too, and A is symmetric
        np.testing.assert_allclose(slope / size, want, rtol=1e-7, err_msg=method)


def test_a_right_side_of_zero_gives_zero_to_any_matrix():
    singular, nothing = np.array([[1.0, 2.0], [2.0, 4.0]]), np.zeros(2)
    for A in (singular, matrix(singular)):
        for solve in (linear_solve, sound_solution):
            for method in ("direct", "cg"):
                found = solve(A, nothing, Options(method))
                np.testing.assert_array_equal(found.x, nothing)
                assert (found.outcome, found.residual) == (0, 0)


def test_integers_are_solved_in_the_float_type_of_the_call():
    odd = 2**24 + 1
    whole = np.diag([odd, 2]).astype(np.int32)
    for A in (whole, matrix(whole)):
        found = linear_solve(A, np.array([odd, 1], np.int32))
        assert found.x.dtype == np.float64
        np.testing.assert_array_equal(found.x, [1, 0.5])
        found = eigen(A, Wanted(2))
        np.testing.assert_array_equal(found.values, [2, odd])
    with jax.enable_x64(False):
        assert linear_solve(whole, np.array([odd, 1], np.int32)).x.dtype == np.float32


def test_a_preconditioner_of_a_direct_solve_is_refused():
    for method in ("direct", "lsmr"):
        with pytest.raises(InvalidArgument, match="takes no preconditioner"):
            linear_solve(POISSON, np.ones(9), Options(method, "jacobi"))
