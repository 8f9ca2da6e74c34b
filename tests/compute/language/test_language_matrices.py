"""Transforms of functions of sparse matrices inside a source, against the same on dense arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

from app.compute.language import parse
from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import SparseMatrix

jax.config.update("jax_enable_x64", True)

SHAPE = (4, 3)
ROWS, COLS = np.array([0, 0, 1, 3, 3]), np.array([0, 2, 1, 0, 2])
VALUES = np.array([0.5, -1.0, 0.7, 1.3, 0.4])
X = np.array([0.3, -0.8, 1.1])


def matrix(rows: np.ndarray, cols: np.ndarray, values: np.ndarray) -> SparseMatrix:
    """With two places of padding, as the service has it."""
    csr = sp.csr_matrix((values, (rows, cols)), SHAPE)
    padded = np.r_[csr.data, 0.0, 0.0], np.r_[csr.indices, 3, 3].astype(np.int32)
    return SparseMatrix(*map(jnp.asarray, (*padded, csr.indptr)), SHAPE)


M = matrix(ROWS, COLS, VALUES)
V = matrix(np.array([0, 1, 2]), np.array([2, 2, 0]), np.array([0.2, -0.6, 0.9]))
PATTERN = np.asarray(M.todense()) != 0


def dense(tree):
    """A tree with its matrices written out."""
    return jax.tree.map(
        lambda leaf: leaf.todense() if isinstance(leaf, SparseMatrix) else leaf,
        tree,
        is_leaf=lambda leaf: isinstance(leaf, SparseMatrix),
    )


def both(source: str, *args):
    """The result on matrices, jitted as in the service, and on dense arrays."""
    function = parse(source).bind()
    return dense(jax.jit(function)(*args)), function(*map(dense, args))


LOSS = "def f(M, x):\n    return jnp.sum(jnp.tanh(M @ x) ** 2) + jnp.sum(M ** 3)\n"


@pytest.mark.parametrize(
    "made",
    [
        "jax.grad(f)(M, x)",
        "jax.value_and_grad(f)(M, x)",
        "jax.grad(f, argnums=(0, 1))(M, x)",
        "jax.grad(f, 1)(M, x)",
        "jax.grad(lambda M: (f(M, x), M.sum()), has_aux=True)(M)",
        "jax.value_and_grad(lambda M: (f(M, x), M @ x), has_aux=True)(M)",
        "jax.grad(lambda t: f(t['M'], t['x']))({'M': M, 'x': x})",
        "jax.jit(jax.grad(f))(M, x)",
        "jax.grad(jax.checkpoint(f))(M, x)",
        "jax.grad(lambda M: f(M.T, jnp.ones(4)))(M)",
        "jax.vjp(f, M, x)[1](2.0)",
        "jax.vjp(lambda M: M * 2, M)[1](M)",
        "jax.vjp(lambda M: M * M, M)[1](jnp.ones((4, 3)))",
    ],
)
def test_gradients_equal_dense_ones_at_the_entries(made: str) -> None:
    source = LOSS + f"def g(M, x):\n    return {made}\n"
    got, wanted = both(source, M, X)
    compare(got, wanted)


def compare(got, wanted) -> None:
    leaves = jax.tree.leaves(got)
    for ours, theirs in zip(leaves, jax.tree.leaves(wanted), strict=True):
        expected = np.where(PATTERN, theirs, 0) if np.shape(theirs) == SHAPE else theirs
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "made",
    [
        "jax.jvp(f, (M, x), (V, 2 * x))",
        "jax.jvp(f, (M, x), (M * 2, x))",
        "jax.jvp(lambda M: (M * 3, M @ x), (M,), (V,))",
        "jax.jvp(lambda M: (f(M, x), M.sum()), (M,), (V,), has_aux=True)",
        "jax.jvp(lambda x: M @ x, (x,), (x,))",
        "jnp.vdot(jax.jvp(jax.grad(f), (M, x), (M, x))[1], M)",
        "jax.vmap(f, (None, 0))(M, jnp.stack([x, 2 * x]))",
        "jax.vmap(lambda s: jax.grad(lambda M: f(M * s, x))(M) @ x)(jnp.array([1.0, 2.0]))",
        "lax.scan(lambda M, _: (M * 0.5, jnp.sum(M)), M, None, length=3)[1]",
        "lax.fori_loop(0, 3, lambda i, B: B * 2 + M, M)",
        "lax.while_loop(lambda B: jnp.sum(B) < 9.0, lambda B: B + M, M)",
        "lax.scan(lambda B, s: (B * s + M, B @ x), M, x)",
        "lax.scan(lambda c, s: ((c[1], c[0] * s), c[0] @ x), (M, M * 2), x)",
        "lax.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (M + V, V + M))",
        "lax.cond(x[0] > 0, lambda B: B.T, lambda B: (2 * B.T.T).T, M)",
        "lax.cond(x[0] > 9, lambda B: (B.T @ B), lambda B: (B.T @ B).T, M)",
        "jax.grad(lambda s: lax.fori_loop(0, 2, lambda i, B: B * s + M, M).sum())(x[0])",
        "jax.jacfwd(f, 1)(M, x)",
        "jax.hessian(f, 1)(M, x)",
    ],
)
def test_other_transforms_equal_dense_ones(made: str) -> None:
    made_dense = made.replace("jax.grad(lambda M: f(M * s, x))(M) @ x", "P(s) @ x")
    source = LOSS + f"def g(M, x, V):\n    return {made}\n"
    got = dense(jax.jit(parse(source).bind())(M, X, V))
    mask = "def P(s):\n        return jax.grad(lambda M: f(M * s, x))(M) * (M != 0)\n"
    reference = LOSS + f"def g(M, x, V):\n    {mask}    return {made_dense}\n"
    wanted = parse(reference).bind()(M.todense(), X, V.todense())
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_a_hessian_times_a_direction_outside_the_pattern() -> None:
    source = LOSS + "def g(M, x, V):\n    return jax.jvp(jax.grad(f), (M, x), (V, x))[1]\n"
    got = dense(jax.jit(parse(source).bind())(M, X, V))
    wanted = parse(source).bind()(M.todense(), X, V.todense())
    cells = PATTERN | (np.asarray(V.todense()) != 0)
    np.testing.assert_allclose(got, np.where(cells, wanted, 0), rtol=1e-12)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("jax.vmap(lambda row: row.sum())(M)", "rows of a sparse matrix"),
        ("jax.hessian(f)(M, x)", "jax.hessian"),
        ("jax.jvp(f, (M, x), (jnp.ones((4, 3)), x))", "tangent of a sparse matrix"),
        ("jax.vmap(lambda s: M * s)(x).sum()", "batch of sparse matrices"),
        ("lax.fori_loop(0, 3, lambda i, B: B + V, M)", "must keep its pattern"),
        ("lax.scan(lambda B, s: (B + V, s), M, x)", "must keep its pattern"),
        ("lax.while_loop(lambda B: B.sum() < 9, lambda B: B.T, M)", "must keep its pattern"),
        ("lax.scan(lambda c, row: (c + row.sum(), c), 0.0, M)", "rows of a sparse matrix"),
        ("lax.map(lambda row: row.sum(), M)", "rows of a sparse matrix"),
        ("lax.cond(x[0] > 0, lambda: M, lambda: M + V)", "branches return matrices"),
        ("lax.switch(1, [lambda: M, lambda: M.T])", "branches return matrices"),
    ],
)
def test_refusals_say_what_to_do(made: str, told: str) -> None:
    source = LOSS + f"def g(M, x, V):\n    return {made}\n"
    with pytest.raises((RefusedSource, InvalidArgument), match=told) as caught:
        jax.eval_shape(parse(source).bind(), M, X, V)
    assert caught.value.hint


VJP = """
from functools import partial
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def p(h, M, x):
    return h(M) @ x
def forward(h, M, x):
    return p(h, M, x), (M, x)
def backward(h, kept, g):
    M, x = kept
    return {}, M.T @ g
p.defvjp(forward, backward)
def f(M, x):
    return jax.grad(lambda M, x: jnp.sum(p(jnp.sin, M, x) ** 2), argnums=(0, 1))(M, x)
"""
JVP = """
@jax.custom_jvp
def p(M, x):
    return (M * 3) @ x
{}
def f(M, x):
    loss = lambda M, x: jnp.sum(p(M, x) ** 2)
    return jax.grad(loss)(M, x), jax.jvp(p, (M, x), (M, x))
"""
CUSTOM = {
    "a dense cotangent": VJP.format("jnp.outer(g, x)"),
    "a cotangent on the pattern": VJP.format("M * g[:, None]"),
    "no cotangent": VJP.format("None if False else 0 * M"),
    "defjvp": JVP.format(
        "@p.defjvp\ndef rule(primals, tangents):\n    (M, x), (dM, dx) = primals, tangents\n"
        "    return p(M, x), 2 * (dM @ x) + M @ dx"
    ),
    "defjvps": JVP.format(
        "p.defjvps(lambda dM, out, M, x: 2 * (dM @ x), lambda dx, out, M, x: M @ dx)"
    ),
    "a matrix for result": """
@jax.custom_jvp
def p(M):
    return M * 3
@p.defjvp
def rule(primals, tangents):
    return p(*primals), tangents[0] * 5
def f(M, x):
    mapped = jax.vmap(lambda y: jax.grad(lambda M: jnp.sum(p(M) @ y))(M) @ y)(jnp.stack([x, 2 * x]))
    return jax.grad(lambda M: jnp.sum(p(M) @ x))(M), mapped
""",
    "a matrix for cotangent": """
@jax.custom_vjp
def p(M):
    return M * 3
p.defvjp(lambda M: (p(M), M), lambda kept, g: (7 * g * kept,))
def f(M, x):
    return jax.grad(lambda M: jnp.sum(p(M) @ x))(M)
""",
    "custom_gradient": """
@jax.custom_gradient
def p(M, x):
    return M @ x, lambda g: (2 * jnp.outer(g, x), M.T @ g)
def f(M, x):
    return jax.grad(lambda M, x: jnp.sum(p(M, x) ** 2), argnums=(0, 1))(M, x)
""",
}


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_rules_of_matrices(name):
    """At the pattern they are what the same rule gives on dense arrays."""
    got, wanted = both(CUSTOM[name], M, X)

    def compare(ours, dense_one):
        mask = PATTERN if np.shape(dense_one) == SHAPE else 1.0
        np.testing.assert_allclose(ours, dense_one * mask, rtol=1e-12, atol=1e-13)

    if name == "a matrix for result":
        # the dense gradient is taken in all cells, the sparse one in those of the pattern
        wanted = wanted[0], np.stack([(5 * PATTERN * y) @ y for y in (X, 2 * X)])
    jax.tree.map(compare, got, wanted)
