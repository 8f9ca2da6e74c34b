"""Whether a root of equations has derivatives, as far as its own accuracy lets us tell.

Where the Jacobian is singular there are none; but round-off seldom leaves it exactly so: at a
double root it is of the size of the error of the root. A Jacobian that changes by its own size
within that error says nothing. Units of unknowns and of equations play no part in this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from app.sparse.solve import direct

CHANGE = 0.4
"""How much of its determinant a regular Jacobian may lose or gain within the error of its root."""
SAFETY = 8
"""How far the round-off of a value may exceed that of its neighbours."""
STEPS = (3, -5, 7, -11)
"""Round-offs by which the neighbours are moved whose values show how far values round off."""

Equations = Callable[..., jax.Array]


def is_regular(equations: Equations, x: jax.Array, consts: Sequence[jax.Array]) -> jax.Array:
    """Whether the Jacobian of ``equations(x, *consts)`` at a root ``x`` (n,) is regular, a bool.

    The error of ``x`` is the Newton step that is left, and what the Jacobian makes of the round-off
    of the values and of the constants.
    """

    def values(x: jax.Array) -> jax.Array:
        return equations(x, *consts)

    def jacobian(x: jax.Array) -> jax.Array:
        # Linearised: what has a reverse rule of its own allows that, and no jacfwd.
        return jax.vmap(jax.linearize(values, x)[1], out_axes=1)(jnp.eye(x.size, dtype=x.dtype))

    here = jacobian(x)
    noise = SAFETY * (_observed(values, x, here) + _inherited(equations, x, consts))
    errors = direct.solver(here)(False, jnp.stack([-2 * values(x), noise], 1))
    sign, size = jnp.linalg.slogdet(here)
    signs, sizes = jax.vmap(lambda error: jnp.linalg.slogdet(jacobian(x + error)), 1)(errors)
    ratios = sign * signs * jnp.exp(sizes - size)
    return jnp.all(jnp.abs(ratios - 1) < CHANGE)


def _observed(values: Callable[..., jax.Array], x: jax.Array, slope: jax.Array) -> jax.Array:
    """How far values beside ``x`` are from those that their derivatives foretell."""
    signs = _signs(x)

    def miss(step: jax.Array) -> jax.Array:
        beside = x + step * float(jnp.finfo(x.dtype).eps) * signs * x
        return jnp.abs(values(beside) - values(x) - slope @ (beside - x))

    return jnp.max(jax.vmap(miss)(jnp.array(STEPS, x.dtype)), axis=0) * _signs(x)


def _inherited(equations: Equations, x: jax.Array, consts: Sequence[jax.Array]) -> jax.Array:
    """What a round-off of every constant makes of the values."""
    if not consts:
        return jnp.zeros_like(x)
    moved = [float(jnp.finfo(c.dtype).eps) * _signs(c) * c for c in consts]
    return jax.linearize(lambda *c: equations(x, *c), *consts)[1](*moved)


def _signs(like: jax.Array) -> jax.Array:
    """1 and -1 in no particular order."""
    order = jnp.cos(1.0 + jnp.arange(like.size)).reshape(like.shape)
    return jnp.where(order < 0, -1, 1).astype(like.dtype)


@jax.custom_jvp
def unless_regular(regular: jax.Array, consts: tuple[jax.Array, ...], x: jax.Array) -> jax.Array:
    """``x``, whose derivatives with respect to ``consts`` become NaN unless ``regular``.

    Those that nothing asks for stay 0.
    """
    return x


@unless_regular.defjvp
def _unless_regular_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    (regular, _, x), (_, changes, along) = primals, tangents
    regular = jax.lax.stop_gradient(regular)

    def pass_on(_: object, change: jax.Array) -> jax.Array:
        return jnp.where(regular | (change == 0), 0, jnp.nan).astype(change.dtype)

    def spoiled(change: jax.Array) -> jax.Array:
        # a linear system whose solves, in every order of derivative, are ours
        return jax.lax.custom_linear_solve(lambda v: v, change, pass_on, pass_on)

    # a cotangent of x meets every constant, also those that the equations forget
    for change in changes:
        parts = (change.real, change.imag) if jnp.iscomplexobj(change) else (change,)
        for part in parts:
            along = along + jnp.sum(spoiled(part)).astype(x.dtype)
    return x, along
