"""Sparse Jacobians and Hessians against dense ones, and closed forms of known test functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from app.core.errors import InvalidArgument, LimitExceeded
from app.core.values import SparseValue
from app.sparse.ingest import ingest
from app.sparse.jacobian import hessian, jacobian, plan_hessian, plan_jacobian
from app.sparse.matrix import from_canonical


def broyden(x):
    """Moré, Garbow, Hillstrom (1981), problem 30: tridiagonal."""
    before = jnp.concatenate([jnp.zeros(1), x[:-1]])
    after = jnp.concatenate([x[1:], jnp.zeros(1)])
    return (3.0 - 2.0 * x) * x - before - 2.0 * after + 1.0


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def branch(x):
    return jnp.where(x > 0, x * jnp.roll(x, -1), x)


def arrow(x):
    return x * x[0] + jnp.zeros(6).at[0].set(jnp.sum(x))


FUNCTIONS = {
    "broyden": (broyden, 30),
    "branch": (branch, 3),
    "arrow": (arrow, 6),
    "linear": (lambda x: jnp.stack([x[1] * 2, x[3] - x[0]]), 5),
    "constant": (lambda x: jnp.ones(3), 4),
    "empty": (lambda x: x[:0], 2),
    "dense": (lambda x: jnp.fft.fft(x).real + x.sum() ** 2, 4),
}


MODES = ("auto", "forward", "reverse")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian_equals_dense(name):
    f, n = FUNCTIONS[name]
    x = np.random.default_rng(0).standard_normal(n)
    plans = [plan_jacobian(f, x, mode=mode) for mode in MODES]
    run = jax.jit(lambda x: ([jacobian(plan, f, x) for plan in plans], jax.jacfwd(f)(x)))
    for point in (x, -x):
        found, dense = run(point)
        for J in found:
            np.testing.assert_allclose(J.todense(), dense, atol=1e-12)
            rows = np.repeat(np.arange(J.shape[0]), np.diff(J.indptr))
            order = np.lexsort((J.indices, rows))
            np.testing.assert_array_equal(order, np.arange(len(rows)))


def at(derivative, plan, f, x):
    """The derivative at a point, compiled: operation by operation costs a program each."""
    return jax.jit(lambda x: derivative(plan, f, x))(x)


def test_tridiagonal_takes_three_products():
    x = np.full(50, -1.0)
    plan = plan_jacobian(broyden, x)
    assert plan.count == 3
    J = at(jacobian, plan, broyden, x)
    assert J.indptr[-1] == 148
    expected = np.diag(np.full(50, 7.0)) - np.eye(50, k=-1) - 2 * np.eye(50, k=1)
    np.testing.assert_allclose(J.todense(), expected)


def test_hessian_equals_dense_and_is_symmetric():
    x = np.random.default_rng(1).standard_normal(40)
    plan = plan_hessian(rosenbrock, x)
    H = at(hessian, plan, rosenbrock, x)
    np.testing.assert_allclose(H.todense(), jax.hessian(rosenbrock)(x), rtol=1e-12)
    assert plan.count <= 4
    none = plan_hessian(lambda x: jnp.sum(x), x)
    assert at(hessian, none, jnp.sum, x).todense().shape == (40, 40)


def test_the_clients_pattern():
    n = 12
    row = np.concatenate([np.arange(n), np.arange(1, n), np.arange(n - 1)])
    col = np.concatenate([np.arange(n), np.arange(n - 1), np.arange(1, n)])
    value = SparseValue("coo", (n, n), {"row": row, "col": col, "values": np.ones(len(row))})
    x = np.random.default_rng(2).standard_normal(n)
    plan = plan_jacobian(broyden, x, pattern=ingest(value))
    np.testing.assert_allclose(at(jacobian, plan, broyden, x).todense(), jax.jacfwd(broyden)(x))
    plan = plan_hessian(rosenbrock, x, pattern=ingest(value))
    got = at(hessian, plan, rosenbrock, x).todense()
    np.testing.assert_allclose(got, jax.hessian(rosenbrock)(x), rtol=1e-12)
    with pytest.raises(InvalidArgument):
        plan_jacobian(broyden, np.ones(5), pattern=ingest(value))


def test_unknown_primitives_fall_back_to_the_whole(kernels):
    from tests.sparse.matrices import value_of

    A = from_canonical(ingest(value_of("coo", [0, 1, 2], [1, 0, 2], [1.0, 2.0, 3.0], (3, 3))))

    def f(x):
        return jnp.sin(A @ x)

    x = np.array([0.1, 0.2, 0.3])
    plan = plan_jacobian(f, x)
    np.testing.assert_allclose(at(jacobian, plan, f, x).todense(), jax.jacfwd(f)(x), atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (0, 3)])
def test_a_whole_jacobian_needs_no_colouring(shape):
    matrix = np.random.default_rng(3).standard_normal(shape)

    def f(x):
        return jnp.sin(matrix @ jnp.roll(x, 1) + x.sum())

    x = np.linspace(0.1, 1.0, shape[1])
    plans = [plan_jacobian(f, x, mode=mode) for mode in MODES]
    run = jax.jit(lambda x: ([jacobian(plan, f, x).todense() for plan in plans], jax.jacfwd(f)(x)))
    found, dense = run(x)
    for plan, each in zip(plans, found, strict=True):
        assert len(plan.indices) == matrix.size
        np.testing.assert_allclose(each, dense, atol=1e-12)


def test_a_large_product_asks_for_its_pattern():
    """The pattern of ``A @ x`` is that of A, which is data; given, it is used."""
    n = 3000
    place = np.arange(n)
    value = SparseValue("coo", (n, n), {"row": place, "col": place[::-1], "values": np.ones(n)})
    A = from_canonical(ingest(value))

    def f(x):
        return jnp.sin(A @ x)

    x = np.linspace(0.0, 1.0, n)
    with pytest.raises(LimitExceeded, match="entries of a sparse matrix") as caught:
        plan_jacobian(f, x)
    assert "the pattern of A" in caught.value.hint
    plan = plan_jacobian(f, x, pattern=ingest(value))
    assert plan.count == 1
    got = at(jacobian, plan, f, x)
    np.testing.assert_allclose(got.values, np.cos(x[::-1]), rtol=1e-12)
