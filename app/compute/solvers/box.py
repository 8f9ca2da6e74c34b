"""Bounds on the unknowns: a box, which may be infinite on any side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp


@dataclass(frozen=True)
class Box:
    """Lower and upper bounds, (n,) each; ``bounded`` is false for the whole space."""

    lower: Any
    upper: Any
    bounded: bool = True

    def project(self, x: Any) -> Any:
        """The nearest point of the box."""
        return jnp.clip(x, self.lower, self.upper)

    def free(self, x: Any, g: Any) -> Any:
        """Mask of the unknowns that descent does not push against their bound."""
        return ~(((x <= self.lower) & (g > 0)) | ((x >= self.upper) & (g < 0)))

    def stationarity(self, x: Any, g: Any) -> Any:
        """Largest entry of the gradient over the free unknowns.

        Never the length of a step: x - P(x - g) is 0 wherever g is below the rounding of x.
        """
        return jnp.max(jnp.where(self.free(x, g), jnp.abs(g), 0.0), initial=0.0)


def unbounded(x: Any) -> Box:
    """The whole space."""
    return Box(jnp.full(x.shape, -jnp.inf, x.dtype), jnp.full(x.shape, jnp.inf, x.dtype), False)
