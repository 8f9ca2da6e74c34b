"""Dense output of an integration: each step that was taken, and a polynomial for inside it.

On the step from t_k to t_k+1 the solution is the sum of c[k][j] s^j over j, where s runs from 0 to
1: s = (t - t_k) / (t_k+1 - t_k). It is the method's own dense output, by its values at as many
points as it has degrees; both ends are met exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import polynomial

from app.compute.calls.call import Call
from app.compute.solvers import options as read
from app.core.errors import InvalidArgument

ROOM = 1000
"""So many steps where the call does not say."""
MOST_NUMBERS = 1 << 22
"""Coefficients kept at most: they are part of every checkpoint."""
DEGREES: Mapping[str, int] = MappingProxyType(
    {"tsit5": 4, "dopri5": 4, "dopri8": 6, "euler_maruyama": 1, "milstein": 1, "heun": 1}
)
"""Of what a method knows between the ends of a step; that of the others is a cubic."""
CUBIC = 3


class Pieces(NamedTuple):
    """Ends of steps (room + 1,) and coefficients (room, degree + 1, n); further ones are 0."""

    t: Any
    coefficients: Any


@dataclass(frozen=True)
class Dense:
    """Room for so many steps, with polynomials of one degree."""

    room: int
    degree: int

    @classmethod
    def of(cls, call: Call, methods: list[str], size: int) -> Dense | None:
        """What ``dense`` asks for: true, or how many steps of ``size`` unknowns to keep."""
        given = call.options.get("dense")
        if given is None or given is False:
            return None
        degree = max(DEGREES.get(name, CUBIC) for name in methods)
        most = MOST_NUMBERS // ((degree + 1) * size)
        room = min(ROOM, most) if given is True else read.count(call.options, "dense", ROOM)
        if not 0 < room <= most:
            raise InvalidArgument(
                f"there is no room for that many steps of {size} unknowns",
                pointer="/dense",
                hint=f"{most} at most, or ts for the solution at times of your own",
            )
        return cls(room, degree)

    def start(self, t: Any, y: Any) -> Pieces:
        """Nothing but the start."""
        coefficients = jnp.zeros((self.room, self.degree + 1, y.size), y.dtype)
        return Pieces(jnp.zeros(self.room + 1, y.dtype).at[0].set(t), coefficients)

    def keep(
        self,
        pieces: Pieces,
        place: Any,
        start: tuple[Any, Any],
        end: tuple[Any, Any],
        between: Callable[[Any], Any],
    ) -> Pieces:
        """The pieces with the step from ``start`` to ``end``, (t, y) each, at ``place``."""
        (t, y), (following, reached) = start, end
        points = _points(self.degree)
        inner = jax.vmap(between)(t + jnp.asarray(points[:-1], y.dtype) * (following - t))
        gained = jnp.concatenate([inner, reached[None]]) - y
        higher = jnp.asarray(_basis(points), y.dtype).T @ gained
        piece = jnp.concatenate([y[None], higher])
        return Pieces(
            pieces.t.at[place + 1].set(following, mode="drop"),
            pieces.coefficients.at[place].set(piece, mode="drop"),
        )

    def filled(self, pieces: Pieces, count: Any, t: Any, y: Any) -> Pieces:
        """The pieces of ``count`` steps; after these the end at ``t`` is repeated."""
        still = jnp.zeros_like(pieces.coefficients[0]).at[0].set(y)
        taken = (jnp.arange(self.room) < count)[:, None, None]
        return Pieces(
            jnp.where(jnp.arange(self.room + 1) <= count, pieces.t, t),
            jnp.where(taken, pieces.coefficients, still),
        )


def _points(degree: int) -> np.ndarray:
    """Points of a step (degree,): those of Chebyshev and Lobatto after the start, 1 the last."""
    return 0.5 - 0.5 * np.cos(np.pi * np.arange(1, degree + 1) / degree)


def _basis(points: np.ndarray) -> np.ndarray:
    """Of each point the polynomial that is 1 there, 0 at the others and at 0: (point, power),
    powers from 1."""
    rows = []
    for place, point in enumerate(points):
        others = np.append(np.delete(points, place), 0.0)
        rows.append(polynomial.polyfromroots(others)[1:] / np.prod(point - others))
    return np.array(rows)
