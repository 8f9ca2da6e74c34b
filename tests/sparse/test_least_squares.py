"""lsmr against NumPy's lstsq: any shape and rank, damping, derivatives where there are any."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from app.sparse.ingest import ingest
from app.sparse.matrix import SparseMatrix, from_canonical
from app.sparse.solve.linear import Options, linear_solve, sound_solution
from tests.sparse.matrices import value_of

RNG = np.random.default_rng(5)
TALL = np.where(RNG.random((7, 4)) < 0.6, RNG.standard_normal((7, 4)), 0) + np.eye(7, 4)
FLAT = np.outer(np.arange(1.0, 6.0), [1.0, 2.0, 3.0])
"""Of rank 1."""


def sparse(dense: np.ndarray) -> SparseMatrix:
    rows, cols = np.nonzero(dense)
    return from_canonical(ingest(value_of("csc", rows, cols, dense[rows, cols], dense.shape)))


solved = jax.jit(linear_solve, static_argnums=2)


@pytest.mark.parametrize(
    ("dense", "turn", "matrix"),
    [
        (TALL, 0, sparse),
        (TALL.T, 1, lambda A: sparse(A.T).T),
        (FLAT, 0, lambda A: A),
        (FLAT.T, 1, sparse),
    ],
    ids=["tall", "wide complex turned", "flat dense", "flat complex"],
)
def test_the_least_squares_solution_of_least_norm(dense, turn, matrix) -> None:
    A = dense * np.exp(1j * np.cos(np.arange(dense.shape[1]))) if turn else dense
    b = RNG.standard_normal((A.shape[0], 2)) + (1j if turn else 0)
    got = solved(matrix(A), b, Options("lsmr", tol=1e-12))
    wanted = np.linalg.lstsq(A, b)[0]
    np.testing.assert_allclose(got.x, wanted, rtol=1e-8, atol=1e-9)
    miss = np.linalg.norm(b - A @ wanted, axis=0) / np.linalg.norm(b, axis=0)
    np.testing.assert_allclose(got.residual, miss, rtol=1e-8, atol=1e-9)
    assert got.outcome == 0


def test_damping_and_outcomes() -> None:
    b = np.arange(7.0)
    got = solved(sparse(TALL), b, Options("lsmr", tol=1e-13, damp=0.7))
    normal = TALL.T @ TALL + 0.49 * np.eye(4)
    np.testing.assert_allclose(got.x, np.linalg.solve(normal, TALL.T @ b), rtol=1e-9)
    assert got.outcome == 0
    assert solved(sparse(TALL), b, Options("lsmr", maxiter=1)).outcome == 1
    assert solved(TALL * np.nan, b, Options("lsmr")).outcome == 2
    assert solved(np.zeros((0, 3)), np.zeros(0), Options("lsmr")).x.tolist() == [0, 0, 0]


def closed_form(A: jax.Array, b: jax.Array, damp: float) -> jax.Array:
    if damp or A.shape[0] >= A.shape[1]:
        return jnp.linalg.inv(A.T @ A + damp**2 * jnp.eye(A.shape[1])) @ (A.T @ b)
    return A.T @ (jnp.linalg.inv(A @ A.T) @ b)


@pytest.mark.parametrize(
    ("dense", "damp"), [(TALL, 0.0), (TALL.T, 0.0), (FLAT, 0.5)], ids=["tall", "wide", "damped"]
)
def test_derivatives_to_second_order(dense: np.ndarray, damp: float) -> None:
    A = sparse(dense)
    rows, cols = (np.asarray(place) for place in A.coordinates())
    count = int(A.indptr[-1])
    b = RNG.standard_normal(dense.shape[0])

    def ours(values: jax.Array, b: jax.Array) -> jax.Array:
        padded = jnp.zeros(A.capacity).at[:count].set(values)
        options = Options("lsmr", tol=1e-14, damp=damp)
        return jnp.sum(jnp.sin(sound_solution(A.with_values(padded), b, options).x))

    def theirs(values: jax.Array, b: jax.Array) -> jax.Array:
        whole = jnp.zeros(A.shape).at[rows[:count], cols[:count]].set(values)
        return jnp.sum(jnp.sin(closed_form(whole, b, damp)))

    def both(f):
        first = jax.grad(f, (0, 1))
        return jax.jit(lambda *at: (first(*at), None if damp else jax.jacfwd(first, (0, 1))(*at)))

    got, want = (both(f)(A.values[:count], b) for f in (ours, theirs))
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-8), got, want)


def test_without_full_rank_derivatives_are_nan() -> None:
    def f(A: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.sum(sound_solution(A, b, Options("lsmr")).x)

    gradient = jax.jit(jax.grad(f, (0, 1)))
    assert all(np.isnan(part).all() for part in gradient(FLAT, np.arange(5.0)))
    # one that is consistent too: its residual tells nothing of the rank
    assert np.isnan(
        jax.jit(jax.jvp, static_argnums=0)(f, (FLAT, FLAT @ np.ones(3)), (FLAT, np.zeros(5)))[1]
    )
