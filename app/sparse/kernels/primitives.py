"""Three bilinear JAX primitives over CSR, closed under transposition and differentiation.

    mm(a, X) = A X        tmm(a, X) = A^T X        sddmm(W, X)[p] = W[row p] · X[col p]

``a`` is the values of A. Each is linear in its first and last operand, and each one's transpose
is another of the three, so jvp, vjp, Hessians and higher derivatives all end in these kernels.
No custom_vjp: it would block forward mode. Lowered to C++ on CPU, to pure JAX elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from app.sparse.kernels import library, portable

NATIVE_TYPES = ("float32", "float64", "complex64", "complex128")


def mm(values: Any, indices: Any, indptr: Any, X: Any, shape: tuple[int, int]) -> jax.Array:
    """``A @ X``; X is ``(n,)`` or ``(n, k)``. O(nnz k)."""
    return _bind(mm_p, values, indices, indptr, X, shape)


def tmm(values: Any, indices: Any, indptr: Any, X: Any, shape: tuple[int, int]) -> jax.Array:
    """``A.T @ X``; X is ``(m,)`` or ``(m, k)``. O(nnz k)."""
    return _bind(tmm_p, values, indices, indptr, X, shape)


def sddmm(W: Any, indices: Any, indptr: Any, X: Any, shape: tuple[int, int]) -> jax.Array:
    """``(W @ X.T)`` at the entries of A only; W ``(m[, k])``, X ``(n[, k])``. O(nnz k)."""
    return _bind(sddmm_p, W, indices, indptr, X, shape)


def _bind(primitive: Primitive, a: Any, indices: Any, indptr: Any, X: Any, shape: Any) -> jax.Array:
    a, X = jnp.asarray(a), jnp.asarray(X)
    dtype = jnp.result_type(a, X)
    narrow = {"bool": jnp.int32, "float16": jnp.float32, "bfloat16": jnp.float32}
    wide = narrow.get(dtype.name, dtype)
    a, X = a.astype(wide), X.astype(wide)
    indices, indptr = (jnp.asarray(part, jnp.int32) for part in (indices, indptr))
    m, n = shape
    out = primitive.bind(a, indices, indptr, X, m=m, n=n, native=library.native())
    return out.astype(dtype)


def _define(name: str, shape: Callable[..., tuple[int, ...]]) -> Primitive:
    primitive = Primitive(name)
    primitive.def_impl(lambda *operands, **params: _jitted(primitive, **params)(*operands))

    def abstract(a: Any, indices: Any, indptr: Any, X: Any, *, m: int, n: int, native: bool) -> Any:
        return ShapedArray(shape(indices, X, m, n), X.dtype)

    primitive.def_abstract_eval(abstract)
    pure = getattr(portable, name.removeprefix("csr_"))

    def in_jax(*operands: Any, m: int, n: int, native: bool) -> Any:
        return pure(*operands, m=m, n=n)

    lower_pure = mlir.lower_fun(in_jax, multiple_results=False)

    def lower_cpu(ctx: Any, *operands: Any, m: int, n: int, native: bool) -> Any:
        if native and ctx.avals_in[0].dtype.name in NATIVE_TYPES:
            return jax.ffi.ffi_lowering(library.target(name))(ctx, *operands, n=n)
        return lower_pure(ctx, *operands, m=m, n=n, native=native)

    mlir.register_lowering(primitive, lower_pure)
    mlir.register_lowering(primitive, lower_cpu, platform="cpu")
    ad.defjvp(
        primitive,
        lambda t, a, ix, ptr, X, **params: primitive.bind(t, ix, ptr, X, **params),
        None,
        None,
        lambda t, a, ix, ptr, X, **params: primitive.bind(a, ix, ptr, t, **params),
    )
    batching.primitive_batchers[primitive] = functools.partial(_batch, primitive)
    return primitive


@functools.lru_cache(maxsize=64)
def _jitted(primitive: Primitive, **params: Any) -> Callable[..., Any]:
    return jax.jit(functools.partial(primitive.bind, **params))


def _batch(
    primitive: Primitive, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int]:
    """Columns for a batch of X alone: one call. Anything else: one call a batch member."""
    a, indices, indptr, X = operands
    if primitive is not sddmm_p and list(dims[:3]) == [None] * 3:
        X = jnp.moveaxis(X, dims[3] or 0, -1)
        out = primitive.bind(a, indices, indptr, X.reshape(X.shape[0], -1), **params)
        return out.reshape(out.shape[0], *X.shape[1:]), X.ndim - 1
    batched = [
        jnp.moveaxis(operand, dim, 0)
        for operand, dim in zip(operands, dims, strict=True)
        if dim is not None
    ]

    def member(some: Sequence[Any]) -> Any:
        rest = iter(some)
        chosen = (
            operand if dim is None else next(rest)
            for operand, dim in zip(operands, dims, strict=True)
        )
        return primitive.bind(*chosen, **params)

    return jax.lax.map(member, batched), 0


def _transposed(
    by_first: Callable[..., Any], by_last: Callable[..., Any]
) -> Callable[..., list[Any]]:
    """A transpose rule: the cotangent of the operand in which the call is linear."""

    def rule(ct: Any, a: Any, indices: Any, indptr: Any, X: Any, **params: Any) -> list[Any]:
        first = ad.is_undefined_primal(a)
        if type(ct) is ad.Zero:
            zero = ad.Zero((a if first else X).aval)
            return [zero, None, None, None] if first else [None, None, None, zero]
        if first:
            return [by_first(ct, indices, indptr, X, params), None, None, None]
        return [None, None, None, by_last(ct, indices, indptr, a, params)]

    return rule


mm_p = _define("csr_mm", lambda indices, X, m, n: (m, *X.shape[1:]))
tmm_p = _define("csr_tmm", lambda indices, X, m, n: (n, *X.shape[1:]))
sddmm_p = _define("csr_sddmm", lambda indices, X, m, n: indices.shape)

ad.primitive_transposes[mm_p] = _transposed(
    lambda ct, ix, ptr, X, params: sddmm_p.bind(ct, ix, ptr, X, **params),
    lambda ct, ix, ptr, a, params: tmm_p.bind(a, ix, ptr, ct, **params),
)
ad.primitive_transposes[tmm_p] = _transposed(
    lambda ct, ix, ptr, X, params: sddmm_p.bind(X, ix, ptr, ct, **params),
    lambda ct, ix, ptr, a, params: mm_p.bind(a, ix, ptr, ct, **params),
)
ad.primitive_transposes[sddmm_p] = _transposed(
    lambda ct, ix, ptr, X, params: mm_p.bind(ct, ix, ptr, X, **params),
    lambda ct, ix, ptr, W, params: tmm_p.bind(ct, ix, ptr, W, **params),
)
