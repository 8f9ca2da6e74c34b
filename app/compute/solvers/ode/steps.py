"""What one step of an integration is, whoever takes it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp


class Slope(NamedTuple):
    """f at a point, where it is ``known``: a step's last stage is often the next one's first."""

    known: Any
    value: Any

    @classmethod
    def unknown(cls, y: Any) -> Slope:
        """Nothing of the slope at ``y`` is known."""
        return cls(jnp.zeros((), bool), jnp.zeros_like(y))


class Tried(NamedTuple):
    """The end of a step, its estimated error, and the slope at the end.

    The error is infinite where the step failed.
    """

    y: Any
    error: Any
    slope: Slope


def judged(y: Any, end: Any, error: Any, slope: Slope) -> Tried:
    """A step from ``y``; it failed where its end or error is not finite, or its end so large that
    its square is not."""
    largest = jnp.finfo(end.dtype).max ** 0.5
    good = jnp.all((jnp.abs(end) <= largest) & jnp.isfinite(error))
    return Tried(jnp.where(good, end, y), jnp.where(good, error, jnp.inf), slope)


class Stepper(Protocol):
    """Steps of y' = f(t, y), y one flat vector.

    ``fixed``: its steps are all of one size, their error not estimated. ``stops``: it has to end
    a step at every save point, because it tells little between. ``order`` is that of the error,
    ``memory`` as ``growth`` has it.
    """

    @property
    def fixed(self) -> bool: ...

    @property
    def stops(self) -> bool: ...

    @property
    def order(self) -> float: ...

    @property
    def memory(self) -> float: ...

    def step(self, t: Any, following: Any, y: Any, slope: Slope) -> tuple[Tried, Any]:
        """Try one step from y with this slope; also what ``between`` needs."""
        ...

    def between(self, t: Any, following: Any, dense: Any, at: Any) -> Any:
        """The solution inside a step just taken."""
        ...


def cubic(low: tuple[Any, Any, Any], high: tuple[Any, Any, Any], at: Any) -> Any:
    """The cubic through two points (t, y, y')."""
    (t0, y0, d0), (t1, y1, d1) = low, high
    width = t1 - t0
    s = (at - t0) / width
    straight = y0 + s * (y1 - y0)
    bend = (1 - 2 * s) * (y1 - y0) + width * ((s - 1) * d0 + s * d1)
    return straight + s * (s - 1) * bend
