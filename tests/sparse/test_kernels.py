"""The three primitives against dense arrays: value, every derivative, every in_axes, padding."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

from app.sparse.canonical import from_entries
from app.sparse.kernels import build, library
from app.sparse.kernels.primitives import mm, sddmm, tmm

SHAPE = (6, 5)


def sample(shape=SHAPE, density=0.4, seed=0, dtype=np.float64, capacity=None):
    """(values, indices, indptr) with padding, and the scipy matrix they mean."""
    rng = np.random.default_rng(seed)
    matrix = scipy.sparse.random_array(shape, density=density, rng=rng, format="coo")
    values = matrix.data.astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(len(values)).astype(values.real.dtype)
    rows, cols = (part.astype(np.int32) for part in matrix.coords)
    padded = from_entries(rows, cols, values, shape).padded(capacity)
    dense = np.zeros(shape, dtype)
    dense[rows, cols] = values
    return (padded.values, padded.indices, padded.indptr), dense


def scatter(values, indices, indptr, shape=SHAPE):
    """The dense array as a JAX function of the values; independent of the kernels."""
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    nnz = indptr[-1]
    return jnp.zeros(shape, values.dtype).at[rows, indices[:nnz]].add(values[:nnz])


TYPES = ("float32", "float64", "complex64", "complex128", "int32", "bool")


@pytest.mark.parametrize(
    ("dtype", "k"), [("float64", 3), *((dtype, k) for dtype in TYPES for k in (None, 75))]
)
def test_values(kernels, dtype, k):
    (values, ix, ptr), dense = sample(dtype=dtype)
    rng = np.random.default_rng(1)
    tail = () if k is None else (k,)
    X = rng.standard_normal((5, *tail)).round(1).astype(dtype)
    W = rng.standard_normal((6, *tail)).round(1).astype(dtype)
    tol = {"rtol": 1e-5 if dtype in ("float32", "complex64") else 1e-13, "atol": 1e-6}
    np.testing.assert_allclose(jax.jit(lambda: mm(values, ix, ptr, X, SHAPE))(), dense @ X, **tol)
    np.testing.assert_allclose(
        jax.jit(lambda: tmm(values, ix, ptr, W, SHAPE))(), dense.T @ W, **tol
    )
    if dtype == "bool":
        return
    got = jax.jit(lambda: sddmm(W, ix, ptr, X, SHAPE))()
    outer = W.reshape(6, -1) @ X.reshape(5, -1).T
    rows = np.repeat(np.arange(6), np.diff(ptr))
    np.testing.assert_allclose(got[: ptr[-1]], outer[rows, ix[: ptr[-1]]], **tol)
    assert not np.any(got[ptr[-1] :])


def test_padding_changes_nothing_even_beside_nan(kernels):
    (values, ix, ptr), dense = sample(density=0.2, capacity=64)
    X, W = np.full(5, np.nan), np.full(6, np.nan)
    with np.errstate(invalid="ignore"):
        expected = np.where((dense != 0).any(axis=1), np.nan, 0.0)
    np.testing.assert_array_equal(jax.jit(lambda: mm(values, ix, ptr, X, SHAPE))(), expected)
    assert not np.any(jax.jit(lambda: sddmm(W, ix, ptr, X, SHAPE))()[ptr[-1] :])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (1, 1)])
def test_empty_sizes(kernels, shape):
    matrix = from_entries(*(np.zeros(0, np.int32),) * 2, np.zeros(0), shape).padded()
    parts = (matrix.values, matrix.indices, matrix.indptr)
    assert jax.jit(lambda: mm(*parts, np.ones(shape[1]), shape))().shape == (shape[0],)
    assert jax.jit(lambda: tmm(*parts, np.ones(shape[0]), shape))().shape == (shape[1],)
    assert jax.jit(lambda: mm(*parts, np.ones((shape[1], 3)), shape))().shape == (shape[0], 3)


TRANSFORMS = {
    "grad values": lambda f: jax.grad(f, 0),
    "grad vector": lambda f: jax.grad(f, 1),
    "jacfwd values": lambda f: jax.jacfwd(f, 0),
    "hessian values": lambda f: jax.hessian(f, 0),
    "hessian vector": lambda f: jax.hessian(f, 1),
    "mixed": lambda f: jax.jacfwd(jax.grad(f, 0), 1),
    "reverse twice": lambda f: jax.jacrev(jax.jacrev(f, 1), 0),
    "third": lambda f: jax.jacfwd(jax.hessian(f, 1), 0),
}


@pytest.mark.parametrize("transposed", [False, True])
def test_derivatives_equal_dense(kernels, transposed):
    shape = (4, 3)
    (values, ix, ptr), _ = sample(shape, 0.5)
    x = np.random.default_rng(2).standard_normal(shape[0] if transposed else shape[1])

    def ours(v, x):
        product = tmm if transposed else mm
        return jnp.sum(jnp.sin(product(v, ix, ptr, x, shape)))

    def dense(v, x):
        full = scatter(v, ix, ptr, shape)
        return jnp.sum(jnp.sin((full.T if transposed else full) @ x))

    @jax.jit
    def pairs(v, x):
        return {name: (t(ours)(v, x), t(dense)(v, x)) for name, t in TRANSFORMS.items()}

    for name, (got, want) in pairs(values, x).items():
        np.testing.assert_allclose(got, want, atol=1e-12, err_msg=name)


AXES = [(None, 0), (None, 2), (0, None), (1, 1), (0, 0)]


def test_vmap_over_every_axis(kernels):
    (values, ix, ptr), _ = sample()
    rng = np.random.default_rng(3)
    batch, shape = 4, (5, 3)

    def operand(one, shape, axis):
        return one if axis is None else np.moveaxis(rng.standard_normal((batch, *shape)), 0, axis)

    def ours(v, X):
        return jnp.sum(jnp.sin(mm(v, ix, ptr, X, SHAPE)))

    def dense(v, X):
        return jnp.sum(jnp.sin(scatter(v, ix, ptr) @ X))

    @jax.jit
    def pairs(operands):
        return [
            [jax.vmap(jax.value_and_grad(f, (0, 1)), axes)(*each) for f in (ours, dense)]
            for axes, each in zip(AXES, operands, strict=True)
        ]

    plain = rng.standard_normal(shape)
    operands = [(operand(values, values.shape, v), operand(plain, shape, x)) for v, x in AXES]
    for axes, (got, want) in zip(AXES, pairs(operands), strict=True):
        check = partial(np.testing.assert_allclose, atol=1e-12, err_msg=str(axes))
        jax.tree.map(check, got, want)


def test_vmap_over_patterns(kernels):
    one, dense_one = sample(seed=4)
    two, dense_two = sample(seed=5)
    stacked = [np.stack(pair) for pair in zip(one, two, strict=True)]
    x = np.random.default_rng(6).standard_normal(5)
    got = jax.jit(jax.vmap(lambda v, ix, ptr: mm(v, ix, ptr, x, SHAPE)))(*stacked)
    np.testing.assert_allclose(got, [dense_one @ x, dense_two @ x], atol=1e-13)


@pytest.mark.parametrize("k", [None, 24])
def test_large_enough_for_threads(kernels, k):
    shape = (40000, 400)
    (values, ix, ptr), dense = sample(shape, 0.2)
    rng = np.random.default_rng(7)
    tail = () if k is None else (k,)
    X, W = rng.standard_normal((400, *tail)), rng.standard_normal((40000, *tail))
    np.testing.assert_allclose(jax.jit(mm, static_argnums=4)(values, ix, ptr, X, shape), dense @ X)
    got = jax.jit(tmm, static_argnums=4)(values, ix, ptr, W, shape)
    np.testing.assert_allclose(got, dense.T @ W, atol=1e-11)


def test_without_a_compiler_pure_jax_serves(tmp_path):
    code = (
        "from app.sparse.kernels import build; build.places = lambda: (); build.COMPILERS = ();"
        "assert build.ensure() is None;"
        "from app.sparse.kernels import library; assert not library.native();"
        "assert library.version() == 'portable'"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=100
    )
    assert run.returncode == 0, run.stderr
    assert "no C++ compiler" in run.stdout + run.stderr


def test_the_library_is_named_by_what_it_was_built_from(kernels):
    if kernels == "native":
        assert build.digest() in str(build.find())
        assert library.version() == build.digest()
    else:
        assert library.version() == "portable"
