"""Descent by first derivatives: BFGS, L-BFGS and nonlinear conjugate gradients, with bounds.

One iteration for all: a direction from what is remembered, a Wolfe line search along the path
projected on the box (Bertsekas, SIAM J. Control Optim. 20 (1982)), an update of the memory. What
is remembered is dropped once before the search is given up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from app.compute.solvers.box import Box
from app.compute.solvers.minimize import stillness
from app.compute.solvers.minimize.line_search import Search, Trial, search
from app.compute.solvers.minimize.newton import Point, all_finite, choose
from app.compute.solvers.outcomes import Outcome


class Memory(Protocol):
    """What is remembered of past steps."""

    @property
    def curvature(self) -> float:
        """The slope that a line search must leave, as a part of that it began with."""
        ...

    @property
    def strong(self) -> bool:
        """Whether that holds for slopes of either sign."""
        ...

    def start(self, x: Any) -> Any: ...

    def direction(self, memory: Any, gradient: Any, free: Any) -> Any:
        """Minus the inverse Hessian, as far as remembered, times the free part of the gradient."""
        ...

    def update(self, memory: Any, s: Any, y: Any, gradient: Any) -> Any: ...


class DescentState(NamedTuple):
    """``fresh``: nothing is remembered yet; ``length`` times slope of the last step."""

    point: Point
    memory: Any
    fresh: Any
    progress: Any


@dataclass(frozen=True)
class Descent:
    """Minimise ``value(x, extra)`` over a box with first derivatives."""

    value: Callable[[Any, Any], Any]
    box: Box
    memory: Memory
    tolerance: float

    def start(self, x: Any, extra: Any) -> DescentState:
        """Evaluate at the start, moved into the box."""
        point = Point.start(lambda x: self.value(x, extra), self.box, x)
        flat = (point.outcome == Outcome.RUNNING) & (point.steepest == 0)
        outcome = jnp.where(flat, Outcome.GRADIENT, point.outcome).astype(jnp.int32)
        point = point._replace(outcome=outcome)
        memory = self.memory.start(point.x)
        return DescentState(point, memory, jnp.ones((), bool), jnp.zeros_like(point.value))

    def step(self, state: DescentState, extra: Any) -> DescentState:
        """One line search along the remembered direction."""
        old = state.point
        free = self.box.free(old.x, old.gradient)
        direction = jnp.where(free, self.memory.direction(state.memory, old.gradient, free), 0.0)
        slope = direction @ old.gradient
        steepest = jnp.where(free, -old.gradient, 0.0)
        downhill = (slope < 0) & jnp.all(jnp.isfinite(direction)) & ~state.fresh
        direction = jnp.where(downhill, direction, steepest)
        slope = direction @ old.gradient
        found = search(
            lambda x: jax.value_and_grad(self.value)(x, extra),
            self.box,
            Trial(jnp.zeros_like(slope), old.x, old.value, old.gradient, slope),
            direction,
            self._first(state, slope, downhill),
            curvature=self.memory.curvature,
            strong=self.memory.strong,
        )
        return self._moved(state, found, slope, downhill)

    def _first(self, state: DescentState, slope: Any, downhill: Any) -> Any:
        """Unit steps where curvature is known; else the gradient's, or of the start's own size.

        Never longer than a tenth of the start; but long enough to be seen beside it.
        """
        x, g = state.point.x, state.point.gradient
        size = jnp.linalg.norm(x)
        size = jnp.where(size > 0, size, 1.0)
        whole = size / jnp.maximum(jnp.linalg.norm(g), jnp.finfo(g.dtype).tiny)
        seen = jnp.finfo(g.dtype).eps ** 0.5 * whole
        careful = jnp.minimum(0.1 * whole, jnp.maximum(seen, 1.0))
        usual = 1.0
        if self.memory.strong:
            usual = jnp.where(state.progress < 0, state.progress / slope, careful)
        return jnp.where(downhill, usual, careful).astype(slope.dtype)

    def _moved(self, state: DescentState, found: Search, slope: Any, downhill: Any) -> DescentState:
        old, new = state.point, found.best
        ok = found.found & all_finite(new.value, new.gradient)
        s, y = new.x - old.x, new.gradient - old.gradient
        memory = self.memory.update(
            choose(downhill, state.memory, self.memory.start(old.x)), s, y, new.gradient
        )
        memory = choose(ok, memory, self.memory.start(old.x))
        x, value, gradient = choose(
            ok, (new.x, new.value, new.gradient), (old.x, old.value, old.gradient)
        )
        steepest = jnp.maximum(old.steepest, self.box.stationarity(x, gradient))
        point = old._replace(
            x=x,
            value=value,
            gradient=gradient,
            iteration=old.iteration + 1,
            evaluations=old.evaluations + found.evaluations,
            steepest=steepest,
        )
        outcome = self._outcome(old, found, ok, s, point, downhill)
        point = point._replace(outcome=outcome)
        return DescentState(point, memory, ~ok | ~found.done, new.length * slope)

    def _outcome(
        self, old: Point, found: Search, ok: Any, s: Any, new: Point, downhill: Any
    ) -> Any:
        """Verified reasons to stop, the strongest last."""
        x, value = new.x, new.value
        eps = jnp.finfo(x.dtype).eps
        slope = self.box.stationarity(x, new.gradient)
        nearly = stillness.spent(x, value, slope, new.steepest, self.tolerance)
        stalled = jnp.where(nearly, Outcome.PRECISION, Outcome.STALLED)
        moved = jnp.any(jnp.abs(s) > 2 * eps * jnp.abs(x) + jnp.finfo(x.dtype).tiny)
        # A search that only ever went down, out to its last trial, goes on from there.
        poor = ~ok | ~moved | (~found.done & jnp.isfinite(found.high))
        outcome = jnp.where(poor & ~downhill, stalled, Outcome.RUNNING)
        outcome = jnp.where(
            stillness.small(slope, new.steepest, self.tolerance), Outcome.GRADIENT, outcome
        )
        low = stillness.endless(jnp.minimum(found.trial.value, value), old.value, old.level)
        return jnp.where(low, Outcome.UNBOUNDED, outcome).astype(jnp.int32)


class Bfgs:
    """The inverse Hessian, (n, n); Nocedal and Wright, section 6.1."""

    curvature = 0.9
    strong = False

    def start(self, x: Any) -> tuple[Any, Any]:
        """Nothing known: the identity, to be scaled by the first step."""
        return jnp.eye(x.size, dtype=x.dtype), jnp.zeros((), bool)

    def direction(self, memory: tuple[Any, Any], gradient: Any, free: Any) -> Any:
        """-H g over the free unknowns."""
        return -memory[0] @ jnp.where(free, gradient, 0.0)

    def update(self, memory: tuple[Any, Any], s: Any, y: Any, gradient: Any) -> tuple[Any, Any]:
        """The BFGS update, left out where the curvature along ``s`` is not positive."""
        inverse, known = memory
        sy = s @ y
        positive = sy > jnp.finfo(s.dtype).eps * jnp.linalg.norm(s) * jnp.linalg.norm(y)
        safe = jnp.where(positive, sy, 1.0)
        scaled = jnp.where(known, 1.0, safe / jnp.where(positive, y @ y, 1.0)) * inverse
        product = scaled @ y
        cross = jnp.outer(product, s)
        new = scaled - (cross + cross.T) / safe
        new = new + (1.0 + y @ product / safe) * jnp.outer(s, s) / safe
        return jnp.where(positive, new, inverse), known | positive


@dataclass(frozen=True)
class Lbfgs:
    """The last ``size`` steps; Liu and Nocedal, Math. Program. 45 (1989)."""

    size: int = 10
    curvature: float = 0.9
    strong: bool = False

    def start(self, x: Any) -> tuple[Any, Any, Any]:
        """No steps yet: rows of zeros are passed over."""
        rows = jnp.zeros((self.size, x.size), x.dtype)
        return rows, rows, jnp.zeros(self.size, x.dtype)

    def direction(self, memory: tuple[Any, Any, Any], gradient: Any, free: Any) -> Any:
        """The two-loop recursion, latest step last."""
        _, changes, inverses = memory
        q = jnp.where(free, gradient, 0.0)

        def back(q: Any, row: tuple[Any, Any, Any]) -> tuple[Any, Any]:
            s, y, rho = row
            weight = rho * (s @ q)
            return q - weight * y, weight

        def forth(r: Any, row: tuple[Any, Any, Any, Any]) -> tuple[Any, None]:
            s, y, rho, weight = row
            return r + s * (weight - rho * (y @ r)), None

        q, weights = jax.lax.scan(back, q, memory, reverse=True)
        last = changes[-1] @ changes[-1]
        scale = jnp.where(inverses[-1] > 0, 1.0 / (inverses[-1] * jnp.where(last > 0, last, 1)), 1)
        r, _ = jax.lax.scan(forth, scale * q, (*memory, weights))
        return -r

    def update(
        self, memory: tuple[Any, Any, Any], s: Any, y: Any, gradient: Any
    ) -> tuple[Any, Any, Any]:
        """Forget the oldest step for this one, unless its curvature is not positive."""
        sy = s @ y
        positive = sy > jnp.finfo(s.dtype).eps * jnp.linalg.norm(s) * jnp.linalg.norm(y)
        inverse = 1.0 / jnp.where(positive, sy, 1.0)
        rows = zip(memory, (s, y, inverse), strict=True)
        pushed = tuple(jnp.concatenate([old[1:], new[None]]) for old, new in rows)
        return choose(positive, pushed, memory)


class ConjugateGradients:
    """Hager and Zhang's CG_DESCENT direction, SIAM J. Optim. 16 (2005)."""

    curvature = 0.1
    strong = True

    def start(self, x: Any) -> Any:
        """No direction yet."""
        return jnp.zeros_like(x)

    def direction(self, memory: Any, gradient: Any, free: Any) -> Any:
        """The direction made with the last step."""
        return memory

    def update(self, memory: Any, s: Any, y: Any, gradient: Any) -> Any:
        """-g + beta d, with the truncation that keeps it a descent direction."""
        direction = jnp.where(jnp.any(memory != 0), memory, s)
        dy = direction @ y
        safe = jnp.where(dy != 0, dy, 1.0)
        beta = (y - 2.0 * direction * (y @ y) / safe) @ gradient / safe
        length = jnp.linalg.norm(direction)
        floor = -1.0 / jnp.maximum(
            length * jnp.minimum(0.01, jnp.linalg.norm(gradient)), jnp.finfo(s.dtype).tiny
        )
        return jnp.where(dy > 0, -gradient + jnp.maximum(beta, floor) * direction, -gradient)
