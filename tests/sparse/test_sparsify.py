"""Every operation of the sparsify table against dense JAX: value, gradient, jvp, vmap."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import InvalidArgument, LimitExceeded, RefusedSource
from app.sparse.ingest import ingest
from app.sparse.kernels import library
from app.sparse.matrix import SparseMatrix, from_canonical
from app.sparse.sparsify import apply
from tests.sparse.matrices import dense_of, entries_of, sparse_values, value_of

SHAPE = (4, 3)
ROWS, COLS = [0, 0, 1, 3, 3, 3], [1, 2, 0, 0, 1, 2]
VALUES = np.array([0.5, -0.25, 0.75, -0.6, 0.3, 0.2])
OTHER = value_of("coo", [0, 1, 1, 2], [1, 0, 2, 2], np.array([0.4, -0.3, 0.9, 0.7]), SHAPE)
D = np.random.default_rng(0).uniform(0.5, 2, SHAPE)
SQUARE = value_of(
    "coo", [0, 1, 1, 2, 2], [0, 0, 1, 1, 2], np.array([2.0, 0.3, 3, -0.4, 1.5]), (3, 3)
)


def dense(x):
    return x.todense() if isinstance(x, SparseMatrix) else x


def call(name, *args, **kwargs):
    """The sparse layer's operation where an argument is sparse, else JAX's own."""
    flat = [item for arg in args for item in (arg if isinstance(arg, list) else [arg])]
    if any(isinstance(arg, SparseMatrix) for arg in flat):
        return apply(name, args, kwargs)
    family, _, last = name.rpartition(".")
    if family == "attribute":
        return getattr(args[0], last)
    if family == "method":
        return getattr(args[0], last)(*args[1:], **kwargs)
    if family == "operator":
        import operator

        return getattr(operator, last)(*args, **kwargs)
    module = {"jnp": jnp, "lax": jax.lax, "jax.nn": jax.nn, "jnp.linalg": jnp.linalg}[family]
    return getattr(module, last)(*args, **kwargs)


def unary(name):
    return lambda A, B: call(name, A)


UNARY = (
    "jnp.sin jnp.tan jnp.sinh jnp.tanh jnp.arcsin jnp.arctan jnp.arcsinh jnp.arctanh jnp.expm1 "
    "jnp.log1p jnp.cbrt jnp.abs jnp.sign jnp.floor jnp.ceil jnp.round jnp.trunc jnp.negative "
    "jnp.square jnp.conj jnp.deg2rad jnp.isnan jax.nn.relu jax.nn.gelu jax.nn.silu "
    "jax.nn.leaky_relu jax.nn.elu operator.neg operator.pos lax.neg lax.abs method.copy "
    "attribute.T jnp.transpose method.transpose jnp.zeros_like jnp.asarray jnp.sum jnp.mean "
    "jnp.var jnp.std jnp.max jnp.min method.sum method.mean method.max jnp.any jnp.all "
    "jnp.count_nonzero jnp.linalg.norm jnp.diagonal jnp.trace"
).split()
OPERATIONS = {
    **{name: unary(name) for name in UNARY},
    "sqrt(abs)": lambda A, B: call("jnp.sqrt", call("jnp.abs", A)),
    **{
        f"{name} axis {axis}": partial(lambda n, a, A, B: call(n, A, axis=a), f"jnp.{name}", axis)
        for name in ("sum", "mean", "var", "max", "min", "any")
        for axis in (0, 1, -1)
    },
    "sum keepdims": lambda A, B: call("jnp.sum", A, axis=1, keepdims=True),
    "rows of norm 1": lambda A, B: call(
        "operator.truediv", A, call("jnp.linalg.norm", A, axis=1, keepdims=True) + 1e-3
    ),
    "norm 1": lambda A, B: call("jnp.linalg.norm", A, 1),
    "A + B": lambda A, B: call("operator.add", A, B),
    "A - B": lambda A, B: call("operator.sub", A, B),
    "A - A": lambda A, B: call("operator.sub", A, A),
    "A * B": lambda A, B: call("operator.mul", A, B),
    "A * A": lambda A, B: call("operator.mul", A, A),
    "A.T + A.T": lambda A, B: call("operator.add", call("attribute.T", A), call("attribute.T", B)),
    "A + dense": lambda A, B: call("operator.add", A, D),
    "dense - A": lambda A, B: call("operator.sub", D, A),
    "A - dense": lambda A, B: call("operator.sub", A, D),
    "A * 3": lambda A, B: call("operator.mul", A, 3.0),
    "3 * A": lambda A, B: call("operator.mul", 3.0, A),
    "A * dense": lambda A, B: call("operator.mul", A, D),
    "A * row": lambda A, B: call("operator.mul", A, D[0]),
    "column * A": lambda A, B: call("operator.mul", D[:, :1], A),
    "A / 2": lambda A, B: call("operator.truediv", A, 2.0),
    "A / row": lambda A, B: call("operator.truediv", A, D[0]),
    "A / dense": lambda A, B: call("operator.truediv", A, D),
    "A // 2": lambda A, B: call("operator.floordiv", A, 0.3),
    "A % 2": lambda A, B: call("operator.mod", A, 0.3),
    "A ** 2": lambda A, B: call("operator.pow", A, 2),
    "A ** 3.0": lambda A, B: call("jnp.power", A, 3.0),
    "A > 0": lambda A, B: call("operator.gt", A, 0),
    "A < 0": lambda A, B: call("operator.lt", A, 0.0),
    "A != 0": lambda A, B: call("operator.ne", A, 0),
    "A > 0.4": lambda A, B: call("jnp.greater", A, 0.4),
    "A > B": lambda A, B: call("operator.gt", A, B),
    "A < dense": lambda A, B: call("operator.lt", A, D),
    "maximum(A, 0)": lambda A, B: call("jnp.maximum", A, 0),
    "lax.max(A, 0.0)": lambda A, B: call("lax.max", A, 0.0),
    "maximum(A, B)": lambda A, B: call("jnp.maximum", A, B),
    "minimum(A, 0.3)": lambda A, B: call("jnp.minimum", A, 0.3),
    "maximum(A, dense)": lambda A, B: call("jnp.maximum", A, D),
    "clip": lambda A, B: call("jnp.clip", A, -0.3, 0.4),
    "where(A > 0, A, 0)": lambda A, B: call("jnp.where", call("operator.gt", A, 0), A, 0.0),
    "where(A > 0, A, 2 A)": lambda A, B: call(
        "jnp.where", call("operator.gt", A, 0), A, call("operator.mul", A, 2.0)
    ),
    "where(A > 0, A, B)": lambda A, B: call("jnp.where", call("operator.gt", A, 0), A, B),
    "where(dense, A, 0)": lambda A, B: call("jnp.where", D > 1, A, 0.0),
    "A @ x": lambda A, B: call("operator.matmul", A, D[0]),
    "x @ A": lambda A, B: call("operator.matmul", D[:, 0], A),
    "A @ X": lambda A, B: call("jnp.matmul", A, D.T),
    "X @ A": lambda A, B: call("jnp.dot", D.T, A),
    "A @ X batched": lambda A, B: call("jnp.matmul", A, np.stack([D.T, 2 * D.T])),
    "A.T @ x": lambda A, B: call("operator.matmul", call("attribute.T", A), D[:, 0]),
    "A.T @ B": lambda A, B: call("operator.matmul", call("attribute.T", A), B),
    "A @ B.T": lambda A, B: call("jnp.dot", A, call("attribute.T", B)),
    "vdot": lambda A, B: call("jnp.vdot", A, B),
    "diagonal 1": lambda A, B: call("jnp.diagonal", A, 1),
    "A[1]": lambda A, B: call("operator.getitem", A, 1),
    "A[-1]": lambda A, B: call("operator.getitem", A, -1),
    "A[3, 1]": lambda A, B: call("operator.getitem", A, (3, 1)),
    "A[:, 2]": lambda A, B: call("operator.getitem", A, (slice(None), 2)),
    "A[traced]": lambda A, B: call("operator.getitem", A, jnp.argmax(D[:, 0])),
    "A[1:]": lambda A, B: call("operator.getitem", A, slice(1, None)),
    "A[::2, 1:3]": lambda A, B: call("operator.getitem", A, (slice(None, None, 2), slice(1, 3))),
    "A[::-1]": lambda A, B: call("operator.getitem", A, slice(None, None, -1)),
    "A[..., 0]": lambda A, B: call("operator.getitem", A, (Ellipsis, 0)),
    "reshape": lambda A, B: call("jnp.reshape", A, (2, -1)),
    "concatenate": lambda A, B: call("jnp.concatenate", [A, B], axis=1),
    "vstack": lambda A, B: call("jnp.vstack", [A, B]),
    "astype": lambda A, B: call("method.astype", A, jnp.float32),
}


def pair(layout="coo"):
    """(A, B) as pytrees, A of the layout."""
    values = [value_of(layout, ROWS, COLS, VALUES, SHAPE), OTHER]
    return [from_canonical(ingest(value)) for value in values]


def scalar(x):
    x = dense(x)
    weights = jnp.arange(1, x.size + 1, dtype=jnp.float64).reshape(x.shape) / 7
    return jnp.sum(jnp.sin(weights * jnp.asarray(x, jnp.float64)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_equals_dense(name):
    check_operation(OPERATIONS[name], *pair())


def check_operation(operation, A, B):

    def ours(a, b):
        return dense(operation(replace(A, values=a), replace(B, values=b)))

    def theirs(a, b):
        return dense(operation(replace(A, values=a).todense(), replace(B, values=b).todense()))

    def all_of(f):
        def run(a, b):
            value, tangent = jax.jvp(f, (a, b), (jnp.cos(a), jnp.sin(b)))
            many = jax.vmap(lambda s: scalar(f(a * s, b)))(jnp.array([1.0, 0.5]))
            grads = jax.grad(lambda a, b: scalar(f(a, b)), (0, 1))(a, b)
            return value, tangent, many, grads

        return run

    got, want = jax.device_get([all_of(f)(A.values, B.values) for f in (ours, theirs)])
    real = [np.arange(M.capacity) < M.indptr[-1] for M in (A, B)]
    for g, w in zip(got[:3], want[:3], strict=True):
        assert g.shape == w.shape
        if g.dtype != jax.dtypes.float0:
            where = np.isfinite(w)  # dense 0 * inf is NaN where sparse stores nothing
            tolerance = 1e-6 if g.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(g[where], w[where], atol=tolerance)
    for g, w, kept in zip(got[3], want[3], real, strict=True):
        np.testing.assert_allclose(g[kept], w[kept], atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from([(3, 4), (5, 5), (0, 3), (6, 2)]).flatmap(
        lambda shape: sparse_values(shape=shape, most=14)
    ),
    st.integers(0, 2**32 - 1),
)
def test_derivatives_in_the_clients_order(value, seed):
    """value, gradient to vector and to nonzeros, jvp, hvp, each layout, both kernels."""
    rng = np.random.default_rng(seed)
    m, n = value.shape
    x, y = rng.standard_normal(n), rng.standard_normal(m)
    matrix = ingest(value)
    A = from_canonical(matrix)
    rows, cols = entries_of(value)
    sent = value.parts["values"]
    v, w = rng.standard_normal(n), rng.standard_normal(len(sent))

    def ours(values, x):
        B = SparseMatrix(values, A.indices, A.indptr, A.shape)
        return jnp.sum(jnp.tanh(B @ x) * y) + jnp.sum((B.T @ y) ** 3)

    def theirs(values, x):
        B = jnp.zeros(value.shape).at[rows, cols].add(values)
        return jnp.sum(jnp.tanh(B @ x) * y) + jnp.sum((B.T @ y) ** 3)

    cells = np.zeros(A.capacity)
    np.add.at(cells, matrix.cells if matrix.cells is not None else np.arange(len(sent)), w)

    def all_of(f, a, w):
        return jax.jit(lambda a, w: derivatives(f, a, w))(a, w)

    def derivatives(f, a, w):
        grads = jax.grad(f, (0, 1))
        hvp = jax.jvp(grads, (a, x), (w, v))[1]
        return f(a, x), grads(a, x), jax.jvp(f, (a, x), (w, v))[1], hvp

    want = all_of(theirs, sent, w)
    for portable in (False, True):
        if portable:
            with library.portable():
                got = all_of(ours, A.values, cells)
        else:
            got = all_of(ours, A.values, cells)
        np.testing.assert_allclose(got[0], want[0], atol=1e-9)
        np.testing.assert_allclose(got[2], want[2], atol=1e-9)
        for g, h in ((got[1], want[1]), (got[3], want[3])):
            back = matrix.to_client(np.asarray(g[0]))[: len(sent)]
            np.testing.assert_allclose(back, h[0], atol=1e-9)
            np.testing.assert_allclose(g[1], h[1], atol=1e-9)


REFUSED = {
    "exp": lambda A, B: call("jnp.exp", A),
    "cos": lambda A, B: call("jnp.cos", A),
    "A + 1": lambda A, B: call("operator.add", A, 1.0),
    "A + row": lambda A, B: call("operator.add", A, D[0]),
    "A * jnp.inf": lambda A, B: call("operator.mul", A, jnp.inf),
    "jnp.dot(A, jnp.nan)": lambda A, B: call("jnp.dot", A, jnp.nan),
    "A / 0": lambda A, B: call("operator.truediv", A, 0.0),
    "A / [0, 1, …]": lambda A, B: call("operator.truediv", A, np.arange(A.shape[1])),
    "A % 0": lambda A, B: call("operator.mod", A, 0),
    "arctan2(A, -1)": lambda A, B: call("jnp.arctan2", A, -1.0),
    "A == 0": lambda A, B: call("operator.eq", A, 0),
    "A >= 0": lambda A, B: call("operator.ge", A, 0),
    "1 / A": lambda A, B: call("operator.truediv", 1.0, A),
    "A / B": lambda A, B: call("operator.truediv", A, B),
    "A ** 0": lambda A, B: call("operator.pow", A, 0),
    "A ** -1": lambda A, B: call("operator.pow", A, -1),
    "2 ** A": lambda A, B: call("operator.pow", 2, A),
    "maximum(A, 1)": lambda A, B: call("jnp.maximum", A, 1.0),
    "clip(A, 1, 2)": lambda A, B: call("jnp.clip", A, 1, 2),
    "where(A > 0, A, 1)": lambda A, B: call("jnp.where", call("operator.gt", A, 0), A, 1.0),
    "A[[0, 1]]": lambda A, B: call("operator.getitem", A, np.array([0, 1])),
    "softmax": lambda A, B: call("jax.nn.softmax", A),
    "fft": lambda A, B: call("jnp.fft.fft", A),
    "ravel": lambda A, B: call("method.ravel", A),
    "odd keyword": lambda A, B: call("jnp.max", A, where=True, initial=3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_what_would_fill(name):
    with pytest.raises((RefusedSource, InvalidArgument)) as caught:
        REFUSED[name](*pair())
    assert "todense" in (caught.value.hint or "") or name in ("odd keyword", "A[[0, 1]]")


def test_a_refusal_says_how_large_it_would_be():
    with pytest.raises(RefusedSource, match=r"4 x 3 = 12 cells \(96 bytes\)"):
        apply("jnp.exp", (pair()[0],), {})


def test_shapes_that_do_not_fit():
    A, _ = pair()
    for name, other in (("operator.add", pair()[0].T), ("operator.matmul", np.ones(4))):
        with pytest.raises(InvalidArgument):
            apply(name, (A, other), {})
    with pytest.raises(LimitExceeded):
        SparseMatrix(A.values, A.indices, A.indptr, (10**5, 10**5)).todense()


def test_attributes():
    A, _ = pair()
    assert apply("attribute.shape", (A.T,), {}) == (3, 4)
    assert apply("jnp.ndim", (A,), {}) == 2
    assert apply("attribute.nnz", (A,), {}) == 6
    assert apply("attribute.dtype", (A,), {}) == np.float64


def test_padding_stays_zero_and_out_of_the_way():
    A, B = pair()
    for name in ("A + B", "A * row", "A / row", "where(A > 0, A, B)", "A[1:]", "concatenate"):
        C = OPERATIONS[name](A, B)
        real = np.arange(C.capacity) < C.indptr[-1]
        assert not np.any(np.asarray(C.values)[~real])
        assert np.all(np.asarray(C.indices)[~real] >= C.stored[1])
        assert C.capacity >= C.indptr[-1]


def test_scan_while_and_checkpoint_carry_a_matrix():
    A = from_canonical(ingest(SQUARE))
    want = np.linalg.matrix_power(dense_of(SQUARE), 4) @ np.ones(3)

    def body(carry, _):
        M, x = carry
        return (M, jax.checkpoint(lambda M, x: M @ x)(M, x)), None

    (_, got), _ = jax.lax.scan(body, (A, jnp.ones(3)), None, length=4)
    np.testing.assert_allclose(got, want)
    looped = jax.lax.fori_loop(0, 4, lambda _, c: (c[0], c[0] @ c[1]), (A, jnp.ones(3)))
    np.testing.assert_allclose(looped[1], want)


@pytest.mark.parametrize("solver", ["cg", "gmres", "bicgstab"])
def test_solvers_inside_functions(solver):
    A = from_canonical(ingest(SQUARE))
    N = apply("operator.matmul", (A.T, A), {}) if solver == "cg" else A
    full = np.asarray(N.todense())
    b = np.array([1.0, 2.0, 3.0])

    def f(values):
        M = SparseMatrix(values, N.indices, N.indptr, N.shape)
        x, _ = apply(f"jax.scipy.sparse.linalg.{solver}", (M, b), {"tol": 1e-12})
        return x

    np.testing.assert_allclose(f(N.values), np.linalg.solve(full, b), rtol=1e-8)
    got = jax.grad(lambda v: f(v).sum())(N.values)
    x, adjoint = np.linalg.solve(full, b), np.linalg.solve(full.T, np.ones(3))
    want = -np.outer(adjoint, x)
    rows, cols = (np.asarray(part) for part in N.coordinates())
    real = rows < 3
    np.testing.assert_allclose(got[real], want[rows[real], cols[real]], atol=1e-7)


def test_small_factorisations():
    A = from_canonical(ingest(SQUARE))
    got = apply("jnp.linalg.solve", (A, np.ones(3)), {})
    np.testing.assert_allclose(got, np.linalg.solve(dense_of(SQUARE), np.ones(3)))
    assert apply("jnp.linalg.det", (A,), {}) == pytest.approx(9.0)


def test_complex_transpose_is_not_adjoint():
    value = value_of("coo", [0], [1], np.array([1j]), (2, 2))
    A = from_canonical(ingest(value))
    np.testing.assert_array_equal(A.T @ np.array([1, 0j]), [0, 1j])
