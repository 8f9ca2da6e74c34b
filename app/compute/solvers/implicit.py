"""Solutions as functions of what their equations close over: implicit derivatives, to any order.

Where F(x, p) = 0, dx = -F_x^-1 F_p dp: the derivative solves with the Jacobian of F at the
solution and never goes through the iteration that found it. Where that Jacobian is singular, or
the solve misses, the derivative is NaN; so it is where the accuracy of x does not tell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.sparse import linalg

from app.compute.solvers.outcomes import SUCCESSES
from app.compute.solvers.regularity import is_regular, unless_regular
from app.sparse.solve import direct
from app.sparse.solve.solver import scales
from app.sparse.solve.soundness import sound_columns

DENSE_UNKNOWNS = 500
"""Up to here the Jacobian is built and factored; beyond it only its products are taken."""
MISS = {"float32": 1e-3}
"""Relative residual up to which a derivative counts; 1e-6 in double precision."""

Told = dict[str, jax.Array]


def solution(
    equations: Callable[[jax.Array], jax.Array],
    start: jax.Array,
    solve: Callable[[], tuple[jax.Array, Told]],
    *,
    symmetric: bool = False,
    branch: Callable[[jax.Array], Callable[[jax.Array], jax.Array]] | None = None,
) -> tuple[jax.Array, Told]:
    """What ``solve`` found, x (n,) and what it tells of it, with the derivatives of a root of
    ``equations``, (n,) to (n,). ``symmetric``: so is their Jacobian. What is told has none.

    ``branch``: where the equations have cases, those of the case at a point.
    """

    def found(_: Any, __: jax.Array) -> tuple[jax.Array, Told]:
        x, told = solve()
        # Integers have no tangents that custom_root could make; these counts are exact.
        return x, {name: jnp.asarray(leaf, x.dtype) for name, leaf in told.items()}

    tangent = partial(_tangent, symmetric=symmetric)
    x, told = jax.lax.custom_root(equations, start, found, tangent, has_aux=True)
    if x.size > DENSE_UNKNOWNS:
        return x, told
    at = branch or (lambda _: equations)
    near, consts = jax.closure_convert(lambda here, x: at(here)(x), x, x)
    fixed, still = jax.lax.stop_gradient((x, consts))
    regular = is_regular(lambda x, *given: near(fixed, x, *given), fixed, still)
    return unless_regular(regular, tuple(consts), x), told


def ending(told: Told) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """``iterations``, ``evaluations``, ``success`` and ``outcome``, whole numbers again."""
    iterations, evaluations, outcome = (
        told[name].astype(jnp.int32) for name in ("iterations", "evaluations", "outcome")
    )
    return iterations, evaluations, succeeded(outcome), outcome


def succeeded(outcome: jax.Array) -> jax.Array:
    """Whether an outcome's code is one of success."""
    return jnp.any(outcome == jnp.array(sorted(SUCCESSES)))


def _tangent(
    linear: Callable[[jax.Array], jax.Array], b: jax.Array, *, symmetric: bool
) -> jax.Array:
    """The solution of ``linear(x) = b``."""
    if b.size > DENSE_UNKNOWNS:
        return _iterated(linear, b, symmetric)
    matrix = jax.vmap(linear, out_axes=1)(jnp.eye(b.size, dtype=b.dtype))
    solver = direct.solver(matrix)

    def side(turned: bool) -> Callable[[Any, jax.Array], jax.Array]:
        operator = jax.lax.stop_gradient(matrix.T if turned else matrix)
        return lambda _, b: _checked(operator.__matmul__, solver(turned, b), b)

    return jax.lax.custom_linear_solve(matrix.__matmul__, b, side(False), side(True))


def _iterated(linear: Callable[[jax.Array], jax.Array], b: jax.Array, symmetric: bool) -> jax.Array:
    def solve(operator: Callable[[jax.Array], jax.Array], b: jax.Array) -> jax.Array:
        method = linalg.cg if symmetric else linalg.bicgstab
        scale = scales(b)
        b = scale * b
        x, _ = method(operator, b, tol=_miss(b) * 1e-3, atol=0.0, maxiter=10 * b.size)
        return _checked(operator, x, b) / scale

    return jax.lax.custom_linear_solve(linear, b, solve, solve, symmetric=symmetric)


def _checked(operator: Callable[[jax.Array], jax.Array], x: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.where(sound_columns(x, b - operator(x), b, _miss(b)), x, jnp.nan)


def _miss(like: jax.Array) -> float:
    return MISS.get(like.dtype.name, 1e-6)
