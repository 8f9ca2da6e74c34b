"""Adaptive steps of ordinary differential equations: diffrax's solvers behind one signature.

``auto`` starts explicit and goes over to an implicit method once the step times the spectral
radius of the Jacobian shows that stability, not accuracy, holds the step down (Hairer and Wanner,
"Solving ODEs II", section IV.2); the radius comes from a power iteration, one product a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from app.compute.solvers.ode.control import Control
from app.compute.solvers.ode.steps import Tried

EXPLICIT = {"tsit5": diffrax.Tsit5, "dopri5": diffrax.Dopri5, "dopri8": diffrax.Dopri8}
IMPLICIT = {"kvaerno5": diffrax.Kvaerno5, "kvaerno3": diffrax.Kvaerno3}
ADAPTIVE = ("auto", *EXPLICIT, *IMPLICIT)
STIFF = 2.5
"""Step times spectral radius at which an explicit step counts as held by stability."""
PATIENCE = 15
"""So many such steps, net of others, end the explicit method."""


@dataclass(frozen=True)
class RungeKutta:
    """Steps y' = f(t, y) by one diffrax solver; y is one flat vector."""

    solver: Any
    term: diffrax.ODETerm
    fixed: bool = False

    @classmethod
    def of(
        cls, name: str, f: Callable[[Any, Any], Any], control: Control, *, forward: bool = False
    ) -> RungeKutta:
        """The solver of a name; implicit ones solve their stages to the tolerances.

        ``forward``: its loop over stages is to be differentiated forward, not in reverse.
        """
        scan: Any = {"scan_kind": "lax"} if forward else {}
        if name in EXPLICIT:
            solver = EXPLICIT[name](**scan)
        else:
            stages = diffrax.VeryChord(control.rtol, float(np.min(control.atol)))
            solver = IMPLICIT[name](root_finder=stages, **scan)
        return cls(solver, diffrax.ODETerm(lambda t, y, _: f(t, y)))

    @property
    def stops(self) -> bool:
        """Implicit ones do: their dense output is of lower order than their steps."""
        return isinstance(self.solver, tuple(IMPLICIT.values()))

    @property
    def order(self) -> float:
        """The order of the error estimate."""
        return float(self.solver.error_order(self.term) or 1)

    def step(self, t: Any, following: Any, y: Any) -> tuple[Tried, Any]:
        """Try one step; also what dense output needs."""
        state = self.solver.init(self.term, t, following, y, None)
        end, error, dense, _, result = self.solver.step(
            self.term, t, following, y, None, state, jnp.ones((), bool)
        )
        good = (result == diffrax.RESULTS.successful) & jnp.all(jnp.isfinite(end))
        good = good & jnp.all(jnp.isfinite(error))
        return Tried(jnp.where(good, end, y), jnp.where(good, error, jnp.inf)), dense

    def between(self, t: Any, following: Any, dense: Any, at: Any) -> Any:
        """The solution inside a step just taken."""
        return self.solver.interpolation_cls(t0=t, t1=following, **dense).evaluate(at)


def radius(f: Callable[[Any, Any], Any], t: Any, y: Any, v: Any) -> tuple[Any, Any]:
    """One power iteration on the Jacobian at y: the radius seen, and the next vector."""
    image = jax.jvp(lambda y: f(t, y), (y,), (v,))[1]
    size = jnp.linalg.norm(image)
    good = jnp.isfinite(size) & (size > 0)
    return jnp.where(good, size, 0.0), jnp.where(good, image / jnp.where(good, size, 1.0), v)
