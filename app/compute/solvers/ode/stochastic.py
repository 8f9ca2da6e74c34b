"""Steps of stochastic differential equations: dy = f dt + g dW, of fixed size.

Kloeden and Platen, "Numerical Solution of Stochastic Differential Equations", chapter 10. The
Brownian motion is Lévy's construction over [start, end]: one path for one seed, whatever the
steps, so that a finer step follows the same path more closely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.solvers.ode.steps import Slope, Tried, judged

STOCHASTIC = ("euler_maruyama", "milstein", "heun")
"""The first two are of Itô's integral, heun is of Stratonovich's."""
LEVELS = 30
"""Halvings of the interval down to which the path is rough; it is straight below."""


@dataclass(frozen=True)
class Brownian:
    """``count`` independent motions, zero at ``start``; ``key`` fixes the path."""

    key: Any
    start: Any
    end: Any
    count: int

    def moved(self, t: Any, following: Any) -> Any:
        """What the motions gain between two times."""
        before, after = jax.vmap(self._at)(jnp.stack([t, following]))
        return after - before

    def _at(self, t: Any) -> Any:
        """The motions at a time: a slope and a sum of tents, one a level (Lévy, Ciesielski)."""
        whole = jnp.where(self.end > self.start, self.end - self.start, 1.0)
        r = jnp.clip((t - self.start) / whole, 0.0, 1.0)
        levels = jnp.arange(LEVELS)
        spread = r * (2.0**levels).astype(r.dtype)
        index = jnp.clip(jnp.floor(spread), 0, 2.0**levels - 1)
        tent = 1.0 - jnp.abs(2.0 * (spread - index) - 1.0)
        height = (0.5 * 2.0 ** (-0.5 * levels)).astype(r.dtype) * tent
        numbers = (2.0**levels + index).astype(jnp.uint32)  # as nodes of a tree, the root being 1
        numbers = jnp.concatenate([jnp.zeros(1, jnp.uint32), numbers])
        keys = jax.vmap(lambda node: jax.random.fold_in(self.key, node))(numbers)
        normal = jax.vmap(lambda key: jax.random.normal(key, (self.count,), r.dtype))(keys)
        return jnp.sqrt(whole) * (jnp.concatenate([r[None], height]) @ normal)


@dataclass(frozen=True)
class Stochastic:
    """One method; ``g`` gives (n,) where ``diagonal``, else (n, m)."""

    method: str
    f: Callable[[Any, Any], Any]
    g: Callable[[Any, Any], Any]
    diagonal: bool
    path: Brownian
    fixed: bool = True
    stops: bool = True
    order: float = 1.0
    memory: float = 0.0

    def step(self, t: Any, following: Any, y: Any, slope: Slope) -> tuple[Tried, Any]:
        """One step; its error is not estimated."""
        width = following - t
        moved = self.path.moved(t, following)
        change = self.f(t, y) * width + self._times(self.g(t, y), moved)
        if self.method == "milstein":
            change = change + self._milstein(t, y, width, moved)
        if self.method == "heun":
            ahead = y + change
            second = self.f(following, ahead) * width + self._times(self.g(following, ahead), moved)
            change = 0.5 * (change + second)
        end = y + change
        return judged(y, end, jnp.zeros_like(y), Slope.unknown(y)), (y, end)

    def _times(self, g: Any, moved: Any) -> Any:
        return g * moved if self.diagonal else g @ moved

    def _milstein(self, t: Any, y: Any, width: Any, moved: Any) -> Any:
        """Half of sum_jk (dg_k/dy g_j) (dW_j dW_k - [j = k] dt), for noise that commutes."""

        def along(direction: Any, weights: Any) -> Any:
            product = lambda y: self._times(self.g(t, y), weights)  # noqa: E731
            return jax.jvp(product, (y,), (direction,))[1]

        units = jnp.eye(self.path.count, dtype=y.dtype)
        g = self.g(t, y)
        both = along(self._times(g, moved), moved)
        alone = jax.lax.map(lambda unit: along(self._times(g, unit), unit), units)
        return 0.5 * (both - width * jnp.sum(alone, 0))

    def between(self, t: Any, following: Any, dense: Any, at: Any) -> Any:
        """A straight line: nothing is known of the path between."""
        y, end = dense
        return y + (at - t) / (following - t) * (end - y)
