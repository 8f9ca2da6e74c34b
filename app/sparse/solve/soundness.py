"""Values that became unsound are NaN, and so are their derivatives, where anything uses them."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from app.sparse.solve.solver import norm, scales


def spoiled_where_not(sound: jax.Array, x: jax.Array) -> jax.Array:
    """``x`` where ``sound``, a bool that broadcasts to it; NaN elsewhere. Integers stay.

    A tangent or cotangent of an unsound entry becomes NaN unless it is 0: a branch that a ``where``
    discards does not spoil what it kept.
    """
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return x
    sound = jnp.broadcast_to(jax.lax.stop_gradient(sound), x.shape)

    def pass_on(_: object, along: jax.Array) -> jax.Array:
        return jnp.where(sound | (along == 0), along, jnp.nan)

    # the identity as a linear system: its solves are ours, in every order of derivative
    passed = jax.lax.custom_linear_solve(lambda v: v, x, pass_on, pass_on)
    return passed + jnp.where(sound, 0, jnp.nan).astype(x.dtype)


def sound_columns(x: jax.Array, miss: jax.Array, b: jax.Array, limit: float) -> jax.Array:
    """Which columns of ``x`` (or all of a vector) have a residual ``miss`` within ``limit`` |b|."""
    scale = scales(b, 0)
    size, miss = jnp.linalg.norm(scale * b, axis=0), norm(scale * miss)
    return jnp.all(jnp.isfinite(x), axis=0) & (miss <= limit * size)
