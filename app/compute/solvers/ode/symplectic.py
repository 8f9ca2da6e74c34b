"""Symplectic steps of separable Hamiltonian systems: q' = a(t, p), p' = b(t, q).

Compositions of drifts and kicks: H. Yoshida, "Construction of higher order symplectic
integrators", Physics Letters A 150 (1990), p. 262; order 2 is the Störmer-Verlet method. The
energy of a long orbit stays within a band instead of drifting away. Steps are of fixed size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp

from app.compute.solvers.ode.steps import Slope, Tried, cubic, judged


def _composed(*weights: float) -> tuple[tuple[float, float], ...]:
    """Leapfrogs of these relative sizes in turn, as pairs of a drift and a kick."""
    drifts = [0.5 * (a + b) for a, b in zip((0.0, *weights), (*weights, 0.0), strict=True)]
    return tuple(zip(drifts, (*weights, 0.0), strict=True))


_CUBE = 2.0 ** (1.0 / 3.0)
_FOUR = 1.0 / (2.0 - _CUBE)
_SIX = (0.784513610477560, 0.235573213359357, -1.17767998417887)

SYMPLECTIC: Mapping[str, tuple[tuple[float, float], ...]] = MappingProxyType(
    {
        "leapfrog": _composed(1.0),
        "symplectic_euler": ((1.0, 1.0),),
        "yoshida4": _composed(_FOUR, -_CUBE * _FOUR, _FOUR),
        "yoshida6": _composed(*_SIX, 1.0 - 2.0 * sum(_SIX), *_SIX[::-1]),
    }
)
"""Relative sizes of drift and kick, in turn, by method."""


@dataclass(frozen=True)
class Symplectic:
    """One method; ``f`` is of flat vectors whose first half are positions."""

    f: Callable[[Any, Any], Any]
    parts: tuple[tuple[float, float], ...]
    fixed: bool = True
    stops: bool = False
    order: float = 2.0
    memory: float = 0.0

    def step(self, t: Any, following: Any, y: Any, slope: Slope) -> tuple[Tried, Any]:
        """One step; its error is not estimated."""
        width = following - t
        q, p = jnp.split(y, 2)
        drifted, kicked = t, t
        for drift, kick in self.parts:
            slope = self.f(kicked, jnp.concatenate([q, p]))
            q = q + drift * width * slope[: q.size]
            drifted = drifted + drift * width
            if kick:
                slope = self.f(drifted, jnp.concatenate([q, p]))
                p = p + kick * width * slope[q.size :]
                kicked = kicked + kick * width
        end = jnp.concatenate([q, p])
        return judged(y, end, jnp.zeros_like(y), Slope.unknown(y)), (y, end)

    def between(self, t: Any, following: Any, dense: Any, at: Any) -> Any:
        """The solution inside a step just taken: a cubic through both ends with their slopes."""
        y, end = dense
        return cubic((t, y, self.f(t, y)), (following, end, self.f(following, end)), at)
