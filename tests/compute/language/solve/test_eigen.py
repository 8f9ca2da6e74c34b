"""``solve.eigen`` inside functions: derivatives against closed forms and finite differences."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import scipy.sparse as sp

from app.compute.language import parse
from app.core.errors import ProblemError
from app.sparse.ingest import ingest
from app.sparse.matrix import SparseMatrix, from_canonical
from tests.sparse.matrices import value_of

RNG = np.random.default_rng(3)
GENERAL = RNG.standard_normal((6, 6)) + np.diag(np.arange(6.0))
SYMMETRIC = GENERAL + GENERAL.T


def line(n: int) -> SparseMatrix:
    matrix = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)).tocoo()
    return from_canonical(ingest(value_of("csr", matrix.row, matrix.col, matrix.data, (n, n))))


def test_a_sparse_laplacian_has_the_derivative_of_its_closed_form() -> None:
    """dw/dA[p, q] = v[p] v[q]; with w_j = 2 - 2 cos t, v_j = sqrt(2 / (n + 1)) sin(j t)."""
    n, j = 300, 2
    A = line(n)
    f = parse("lambda A: solve.eigen(A, k=2, which='smallest').values[1]").bind()
    value, gradient = jax.jit(jax.value_and_grad(lambda x: f(A.with_values(x))))(A.values)
    angle = j * np.pi / (n + 1)
    np.testing.assert_allclose(value, 2 - 2 * np.cos(angle), rtol=1e-9)
    v = np.sqrt(2 / (n + 1)) * np.sin(np.arange(1, n + 1) * angle)
    rows, cols = (np.asarray(place)[: 3 * n - 2] for place in A.coordinates())
    np.testing.assert_allclose(gradient[: 3 * n - 2], v[rows] * v[cols], rtol=1e-6, atol=1e-12)


SOURCES = {
    "values": (SYMMETRIC, "solve.eigen(A, k=2, which='smallest').values @ jnp.array([1.0, 2.0])"),
    "vectors": (SYMMETRIC, "jnp.sum(solve.eigen(A, k=2).vectors**4 @ jnp.array([1.0, 2.0]))"),
    "general": (
        GENERAL,
        "jnp.sum(jnp.abs(solve.eigen(A, k=3, symmetric=False).values) ** 2)",
    ),
    "general vectors": (
        GENERAL,
        "jnp.sum(jnp.abs(solve.eigen(A, k=2, sigma=0.5, symmetric=False).vectors[:3]) ** 4)",
    ),
    "hermitian": (
        SYMMETRIC,
        "(lambda w, v: w[0] + jnp.abs(v[0, 0]) ** 2)"
        "(*solve.eigen(A + 1j * (A * jnp.tri(6) - A.T * jnp.tri(6).T), k=1))",
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_first_and_second_derivatives_against_differences(name: str) -> None:
    A, expression = SOURCES[name]
    f = parse(f"lambda A: {expression}").bind()
    along = RNG.standard_normal(A.shape)
    along = along + along.T if A is SYMMETRIC else along
    both = jax.jit(jax.value_and_grad(f))
    step = 1e-5
    (above, rising), (below, falling) = both(A + step * along), both(A - step * along)
    slope = np.sum(both(A)[1] * along)
    np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-6, atol=1e-7)
    curve = jax.jit(lambda A: jax.jvp(jax.grad(f), (A,), (along,))[1])(A)
    wanted = (rising - falling) / (2 * step)
    np.testing.assert_allclose(np.sum(curve * along), np.sum(wanted * along), rtol=1e-5, atol=1e-6)


def test_repeated_values_have_no_derivative_and_spoil_no_other() -> None:
    gradient = jax.jit(
        jax.jacrev(parse("lambda A: solve.eigen(A, k=3, which='largest').values").bind())
    )
    found = gradient(np.diag([1.0, 1.0, 3.0]))
    assert np.isnan(found[:2]).all()
    np.testing.assert_array_equal(found[2], np.diag([0.0, 0.0, 1.0]))


def test_what_was_not_found_is_nan() -> None:
    source = "lambda A: solve.eigen(A, k=1, full=True)"
    found = jax.jit(parse(source).bind())(np.array([[1.0, 2.0], [0.0, 3.0]]))
    assert list(found) == ["values", "vectors", "residual", "success", "outcome"]
    assert np.isnan(found["values"]).all()
    assert not found["success"]
    assert found["outcome"] == 2


def test_a_batch_by_vmap() -> None:
    many = np.stack([np.diag([1.0, 2.0]), np.diag([5.0, 4.0])])
    f = parse("lambda A: jax.vmap(lambda M: solve.eigen(M, k=1).values[0])(A)").bind()
    np.testing.assert_allclose(jax.jit(f)(many), [2.0, 5.0])


REFUSED = ("A[0]", "A, k=7", "A, which='SM'", "A, which='largest', sigma=1", "A, k=A[0, 0]")


@pytest.mark.parametrize("arguments", REFUSED)
def test_refusals_carry_their_place(arguments: str) -> None:
    with pytest.raises(ProblemError) as caught:
        jax.jit(parse(f"def f(A):\n    return solve.eigen({arguments}).values").bind())(SYMMETRIC)
    assert (caught.value.line, caught.value.column) == (2, 12)
    assert caught.value.pointer is None
