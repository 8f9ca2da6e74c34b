"""Newton's method for the stages of implicit steps: judged by what it changes of y.

diffrax solves for slopes and judges these. A slope of a stiff system carries the rounding of y
many times enlarged, so that in single precision no tolerance is ever met. Hairer and Wanner,
"Solving Ordinary Differential Equations II", section IV.8, judge the change of y, as here.
"""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optimistix as optx

from app.compute.solvers.ode.control import Control

SHARE = 0.01
"""The part of the tolerance that may be left of a stage's error."""
ROUNDINGS = 3.0
"""So many roundings of y are left in any case."""


class StageNewton(diffrax.VeryChord):
    """``rtol`` and ``atol`` are those of the steps; ``atol`` one for each entry of y, or one."""

    @classmethod
    def of(cls, control: Control) -> StageNewton:
        """As exact as the steps ask for."""
        eps = float(np.finfo(control.atol.dtype).eps)
        share = min(0.5, max(SHARE, ROUNDINGS * eps / control.rtol))
        return cls(control.rtol, control.atol, kappa=share)  # type: ignore[arg-type]

    def step(
        self, fn: Any, y: Any, args: Any, options: Any, state: Any, tags: Any
    ) -> tuple[Any, Any, Any]:
        """One iteration on the slope ``y``; its size is that of the change of the stage."""
        slope, new, aux = super().step(fn, y, args, options, state, tags)
        _, diagonal, _, prod, _, start, _, control = args
        change = diagonal * prod(new.diff, control)
        reached = start + diagonal * prod(slope, control)
        size = self.norm(change / (self.atol + self.rtol * jnp.abs(reached)))
        return slope, eqx.tree_at(lambda s: s.diffsize, new, size), aux

    def terminate(
        self, fn: Any, y: Any, args: Any, options: Any, state: Any, tags: Any
    ) -> tuple[Any, Any]:
        """Also where the last change was itself so small."""
        end, result = super().terminate(fn, y, args, options, state, tags)
        good = (state.step >= 2) & (state.diffsize < self.kappa)
        return end | good, optx.RESULTS.where(good, optx.RESULTS.successful, result)
