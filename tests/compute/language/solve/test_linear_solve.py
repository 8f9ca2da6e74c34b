"""``solve.linear_solve`` inside functions: transforms, failures as NaN, refusals with places."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from app.compute.language import parse
from app.core.errors import ProblemError
from app.sparse.ingest import ingest
from app.sparse.matrix import SparseMatrix, from_canonical
from tests.sparse.matrices import value_of

RNG = np.random.default_rng(0)
DENSE = 4 * np.eye(5) + RNG.standard_normal((5, 5))
STORED = np.nonzero(RNG.random((5, 5)) + 2 * np.eye(5) > 0.4)
PATTERN = np.zeros((5, 5))
PATTERN[STORED] = DENSE[STORED]
B = RNG.standard_normal(5)


def sparse(dense: np.ndarray) -> SparseMatrix:
    rows, cols = np.nonzero(dense)
    return from_canonical(
        ingest(value_of("coo", rows[::-1], cols[::-1], dense[rows, cols][::-1], dense.shape))
    )


def run(source: str, *args: Any) -> Any:
    return jax.jit(parse(source).bind())(*args)


FORMS = """
from solve import linear_solve
def f(A, b):
    s = linear_solve(A, b, full=True)
    return {
        "tol": solve.linear_solve(A, b, tol=1e-12),
        "full": jnp.where(s.success & (s.outcome == 0), s.x, s.residual),
        "mapped": jax.vmap(lambda c: solve.linear_solve(A, c * b))(jnp.ones(1))[0],
        "columns": solve.linear_solve(A, jnp.stack([b, 2 * b], 1))[:, 1] / 2,
        "transposed": solve.linear_solve(A.T.T, b),
        "iterated": solve.linear_solve(A, b, method="gmres", tol=1e-13),
    }
"""


@pytest.mark.parametrize(
    ("A", "dense"), [(DENSE, DENSE), (sparse(PATTERN), PATTERN)], ids=["dense", "sparse"]
)
def test_it_solves(A: Any, dense: np.ndarray) -> None:
    wanted = np.linalg.solve(dense, B)
    np.testing.assert_allclose(run("solve.linear_solve(A, b)", A, B), wanted, rtol=1e-12)
    for form, x in run(FORMS, A, B).items():
        np.testing.assert_allclose(x, wanted, rtol=1e-9, err_msg=form)


NESTED = """
def f(A, b):
    x = solve.linear_solve(A, b)
    return jnp.sum(jnp.sin(x) * jnp.arange(1.0, 6.0))
"""


def by_numpy(A: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.sum(jnp.sin(jnp.linalg.inv(A) @ b) * jnp.arange(1.0, 6.0))


def test_derivatives_to_second_order() -> None:
    """Against derivatives of the inverse written out, in A at its stored entries and in b."""
    f, A = parse(NESTED).bind(), sparse(PATTERN)
    rows, cols = (np.asarray(place) for place in A.coordinates())
    stored = rows < 5
    rows, cols = rows[stored], cols[stored]
    count = int(stored.sum())

    def ours(values: jax.Array, b: jax.Array) -> Any:
        padded = jnp.zeros(A.capacity).at[:count].set(values)
        return f(A.with_values(padded), b)

    def theirs(values: jax.Array, b: jax.Array) -> Any:
        return by_numpy(jnp.zeros((5, 5)).at[rows, cols].set(values), b)

    both = (0, 1)
    for made, g, h, first in (
        (jax.hessian, ours, theirs, A.values[:count]),
        (jax.grad, ours, theirs, A.values[:count]),
        (jax.grad, f, by_numpy, DENSE),
    ):
        got, want = (jax.jit(made(each, both))(first, B) for each in (g, h))
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9), got, want)


def test_derivatives_written_in_the_source() -> None:
    source = NESTED + "\ndef g(A, b):\n    return jax.jvp(jax.grad(f), (A, b), (A, b))[1].T @ b"
    got = run(source, sparse(PATTERN), B)
    along = jax.jvp(jax.grad(by_numpy), (PATTERN, B), (PATTERN, B))[1] * (PATTERN != 0)
    np.testing.assert_allclose(got, along.T @ B, rtol=1e-8, atol=1e-9)


SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])


@pytest.mark.parametrize("A", [SINGULAR, sparse(SINGULAR)], ids=["dense", "sparse"])
def test_a_singular_matrix_gives_nan_and_so_do_derivatives(A: Any) -> None:
    b = SINGULAR.sum(1)
    f = parse("lambda A, b: jnp.sum(solve.linear_solve(A, b))").bind()
    value, gradient = jax.jit(jax.value_and_grad(f, 1))(A, b)
    assert np.isnan(value)
    assert np.isnan(gradient).all()
    source = "lambda A, b: solve.linear_solve(A, b, full=True)"
    assert not run(source, A, b)["success"]


def test_what_a_where_discards_does_not_spoil_a_derivative() -> None:
    source = """
def f(A, b):
    s = solve.linear_solve(A, b, full=True)
    return jnp.sum(jnp.where(s.success, s.x, 3 * b))
"""
    gradient = jax.jit(jax.grad(parse(source).bind(), 1))
    np.testing.assert_array_equal(gradient(SINGULAR, np.ones(3)), 3 * np.ones(3))
    np.testing.assert_allclose(gradient(2 * np.eye(3), np.ones(3)), np.full(3, 0.5))


def test_an_iteration_that_did_not_converge_is_nan() -> None:
    hilbert = 1 / (1 + np.add.outer(np.arange(6.0), np.arange(6.0)))
    f = parse("lambda A, b: solve.linear_solve(A, b, method='cg', maxiter=2)").bind()
    assert np.isnan(jax.jit(f)(hilbert, np.arange(6.0))).all()
    # 2 steps solve for b = A e, and not for the directions of the derivative
    kind = np.diag([1.0, 1.0, 1.0, 2.0, 3.0, 4.0])
    value, gradient = jax.jit(jax.value_and_grad(lambda b: jnp.sum(f(kind, b))))(np.eye(6)[0])
    np.testing.assert_allclose(value, 1.0)
    assert np.isnan(gradient).all()


REFUSED = {
    "solve.linear_solve(A, b, method='lu')": "one of direct, cg",
    "solve.linear_solve(A, b, tol=b[0])": "static",
    "solve.linear_solve(A, b, maxiter=0)": "",
    "solve.linear_solve(A[:2], b)": "least-squares",
    "solve.linear_solve(A, b[:2])": "",
    "solve.linear_solve(A, A.T, full=2)": "",
    "solve.linear_solve(jnp.stack([A, A]), b)": "vmap",
    "solve.linear_solve(A)": "",
    "solve.linearsolve(A, b)": "linear_solve",
    "solve.linear_solve(A, b, mode=1)": "",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refusals_carry_their_place(call: str) -> None:
    with pytest.raises(ProblemError) as caught:
        run(f"def f(A, b):\n    y = 2 * b\n    return y + {call}", DENSE, B)
    assert (caught.value.line, caught.value.column) == (3, 16)
    assert caught.value.pointer is None
    assert REFUSED[call] in (caught.value.hint or "")
