"""The trust-region subproblem, solved exactly in an eigenbasis, and the rules for its radius.

Moré and Sorensen, "Computing a trust region step", SIAM J. Sci. Stat. Comput. 4 (1983), with the
factorisations replaced by one eigendecomposition: for the few unknowns it is meant for that costs
little and knows no hard case that is not seen. Chapter 4 of Nocedal and Wright is the textbook.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

ITERATIONS = 40
"""Safeguarded Newton steps on the multiplier: bisection alone would gain 12 digits."""
ACCEPT = 1e-4
"""Least ratio of actual to predicted decrease at which a step is taken."""


class Quadratic(NamedTuple):
    """A model g.p + p.B.p/2 in the eigenbasis of B: eigenvalues (n,) and coefficients of g."""

    eigenvalues: Any
    slopes: Any


def multiplier(model: Quadratic, radius: Any) -> Any:
    """The least mu >= 0 with B + mu I positive semidefinite and ||p(mu)|| <= radius."""
    lowest = jnp.min(model.eigenvalues)
    norm = jnp.linalg.norm(model.slopes)
    low = jnp.maximum(0.0, -lowest)
    high = jnp.maximum(low, norm / radius - lowest)
    interior = (lowest > 0) & (jnp.linalg.norm(step(model, 0.0)) <= radius)

    def tighten(_: Any, bracket: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        low, high, mu = bracket
        shifted = model.eigenvalues + mu
        p = step(model, mu)
        length = jnp.linalg.norm(p)
        low = jnp.where(length > radius, mu, low)
        high = jnp.where(length > radius, high, mu)
        curvature = jnp.sum(p * p / jnp.where(shifted > 0, shifted, 1.0))
        newton = mu + (length - radius) / radius * length**2 / jnp.maximum(curvature, _tiny(p))
        inside = (newton > low) & (newton < high)
        return low, high, jnp.where(inside, newton, 0.5 * (low + high))

    start = (low, high, 0.5 * (low + high))
    _, high, _ = jax.lax.fori_loop(0, ITERATIONS, tighten, start)
    return jnp.where(interior, 0.0, high)


def step(model: Quadratic, mu: Any) -> Any:
    """p(mu) = -(B + mu I)^-1 g in the eigenbasis; zero along what has no curvature and no slope."""
    shifted = model.eigenvalues + mu
    safe = jnp.where(shifted > 0, shifted, _tiny(shifted))
    return jnp.where(model.slopes == 0, 0.0, -model.slopes / safe)


def solve(model: Quadratic, radius: Any) -> Any:
    """The minimiser of the model within ``radius``, in the eigenbasis (n,)."""
    p = step(model, multiplier(model, radius))
    length = jnp.linalg.norm(p)
    p = jnp.where(length > radius, p * (radius / length), p)
    # The hard case: the slope has no part along the lowest, negative curvature. Go there.
    at = jnp.argmin(model.eigenvalues)
    missing = jnp.sqrt(jnp.maximum(radius**2 - jnp.sum(p * p), 0.0))
    hard = (model.eigenvalues[at] < 0) & (jnp.sum(p * p) < (0.99 * radius) ** 2)
    return p.at[at].add(jnp.where(hard, jnp.where(p[at] < 0, -missing, missing), 0.0))


def resized(radius: Any, ratio: Any, length: Any) -> Any:
    """The next radius, from actual over predicted decrease and the length of the step tried."""
    grown = jnp.where(ratio > 0.75, jnp.maximum(radius, 2.5 * length), radius)
    kept = jnp.where(ratio < 0.25, 0.25 * jnp.minimum(radius, length), grown)
    return jnp.where(jnp.isfinite(ratio), kept, 0.1 * jnp.minimum(radius, length))


def _tiny(like: Any) -> Any:
    return jnp.finfo(like.dtype).tiny * 1e4
