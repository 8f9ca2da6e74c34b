"""The incomplete LU preconditioner: SuperLU's ILUTP on the host, kept as whole factors are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.core.errors import InvalidArgument
from app.sparse.matrix import SparseMatrix
from app.sparse.solve.kept import digest, process_factors
from app.sparse.solve.on_host import parts_of
from app.sparse.solve.solver import Matrix

KEY_WORDS = 8
"""32-bit words of a SHA-256."""


def inverse(A: Matrix) -> Callable[[bool], Callable[[jax.Array], jax.Array]]:
    """For A, or for A.T where asked with True: about the inverse, applied to a vector.

    A is hashed once, and factored unless its factors are kept; each step of an iteration then
    finds them by the hash.
    """
    if not isinstance(A, SparseMatrix):
        raise InvalidArgument(
            'the preconditioner "ilu" is of sparse matrices',
            pointer="/preconditioner",
            hint='a dense matrix is solved by method "direct"',
        )
    wide = jnp.complex128 if jnp.issubdtype(A.dtype, jnp.complexfloating) else jnp.float64
    parts = parts_of(A)

    def canonical(values: Any, indices: Any, indptr: Any) -> tuple[np.ndarray, ...]:
        return np.asarray(values).astype(wide), np.asarray(indices), np.asarray(indptr)

    def hashed(*parts: Any) -> np.ndarray:
        return np.frombuffer(digest(*canonical(*parts)), np.int32)

    def apply(turned: bool, key: Any, x: Any, *parts: Any) -> np.ndarray:
        found = process_factors().at(
            np.asarray(key).tobytes(), partial(canonical, *parts), incomplete=True
        )
        return found.solve(np.asarray(x).astype(wide), turned).astype(x.dtype)

    shape = jax.ShapeDtypeStruct((KEY_WORDS,), jnp.int32)
    key = jax.pure_callback(hashed, shape, *parts, vmap_method="sequential")

    def of(turned: bool) -> Callable[[jax.Array], jax.Array]:
        side = turned != A.transposed

        def applied(x: jax.Array) -> jax.Array:
            shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
            call = partial(apply, side)
            return jax.pure_callback(call, shape, key, x, *parts, vmap_method="sequential")

        return applied

    return of
