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

from app.compute.solvers.ode.control import Control
from app.compute.solvers.ode.stages import StageNewton
from app.compute.solvers.ode.steps import Slope, Tried, judged

EXPLICIT = {"tsit5": diffrax.Tsit5, "dopri5": diffrax.Dopri5, "dopri8": diffrax.Dopri8}
IMPLICIT = {"kvaerno5": diffrax.Kvaerno5, "kvaerno3": diffrax.Kvaerno3}
ADAPTIVE = ("auto", *EXPLICIT, *IMPLICIT)
SMOOTHED = 0.4
"""``memory`` of implicit methods (Hairer and Wanner, II, section IV.2: 0.7 and 0.4)."""
STIFF = 2.5
"""Step times spectral radius at which an explicit step counts as held by stability."""
PATIENCE = 15
"""So many such steps, net of others, end the explicit method."""


@dataclass(frozen=True)
class RungeKutta:
    """Steps y' = f(t, y) by one diffrax solver; y is one flat vector.

    ``direction`` -1: f's own time runs backward while that of the steps runs forward.
    """

    solver: Any
    term: diffrax.ODETerm
    direction: Any = 1.0
    fixed: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        f: Callable[[Any, Any], Any],
        control: Control,
        direction: Any = 1.0,
        *,
        forward: bool = False,
    ) -> RungeKutta:
        """The solver of a name; implicit ones solve their stages to the tolerances.

        ``forward``: its loop over stages is to be differentiated forward, not in reverse.
        """
        scan: Any = {"scan_kind": "lax"} if forward else {}
        if name in EXPLICIT:
            solver = EXPLICIT[name](**scan)
        else:
            solver = IMPLICIT[name](root_finder=StageNewton.of(control), **scan)
        return cls(solver, diffrax.ODETerm(lambda t, y, _: f(t, y)), direction)

    @property
    def stops(self) -> bool:
        """Implicit ones do: their dense output is of lower order than their steps."""
        return isinstance(self.solver, tuple(IMPLICIT.values()))

    @property
    def order(self) -> float:
        """The order of the error estimate."""
        return float(self.solver.error_order(self.term) or 1)

    @property
    def memory(self) -> float:
        """Implicit ones smooth their error: see ``growth``."""
        return SMOOTHED if isinstance(self.solver, tuple(IMPLICIT.values())) else 0.0

    def step(self, t: Any, following: Any, y: Any, slope: Slope) -> tuple[Tried, Any]:
        """Try one step; also what dense output needs."""
        # Of diffrax's solvers, those whose last stage is the next first one keep that slope.
        ends = (self.direction * t, self.direction * following)
        keeps = self.solver.init(self.term, *ends, y, None) is not None
        state = (~slope.known, slope.value) if keeps else None
        end, error, dense, state, result = self.solver.step(
            self.term, *ends, y, None, state, jnp.zeros((), bool)
        )
        reached = Slope(jnp.ones((), bool), state[1]) if keeps else Slope.unknown(y)
        error = jnp.where(result == diffrax.RESULTS.successful, error, jnp.inf)
        return judged(y, end, error, reached), dense

    def between(self, t: Any, following: Any, dense: Any, at: Any) -> Any:
        """The solution inside a step just taken."""
        start, end, inside = (self.direction * each for each in (t, following, at))
        return self.solver.interpolation_cls(t0=start, t1=end, **dense).evaluate(inside)


def radius(f: Callable[[Any, Any], Any], t: Any, y: Any, v: Any) -> tuple[Any, Any]:
    """One power iteration on the Jacobian at y: the radius seen, and the next vector."""
    image = jax.jvp(lambda y: f(t, y), (y,), (v,))[1]
    size = jnp.linalg.norm(image)
    good = jnp.isfinite(size) & (size > 0)
    return jnp.where(good, size, 0.0), jnp.where(good, image / jnp.where(good, size, 1.0), v)
