"""What one step of an integration is, whoever takes it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Tried(NamedTuple):
    """The end of a step and its estimated error; the error is infinite where the step failed."""

    y: Any
    error: Any


class Stepper(Protocol):
    """Steps of y' = f(t, y), y one flat vector.

    ``fixed``: its steps are all of one size, their error not estimated. ``stops``: it has to end
    a step at every save point, because it tells little between. ``order`` is that of the error.
    """

    @property
    def fixed(self) -> bool: ...

    @property
    def stops(self) -> bool: ...

    @property
    def order(self) -> float: ...

    def step(self, t: Any, following: Any, y: Any) -> tuple[Tried, Any]:
        """Try one step; also what ``between`` needs."""
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
