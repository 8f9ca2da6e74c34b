"""``ode`` as a machine: adaptive steps from t0 to t1, save points, one event.

The error of a step is measured as in Hairer, Norsett and Wanner, "Solving ODEs I", section II.4,
and the next step chosen by a PI controller (section IV.2 of the second volume).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.integrators import PATIENCE, STIFF, Stepper, Tried, radius
from app.compute.solvers.newton import all_finite
from app.compute.solvers.outcomes import Outcome

SHARPEN = 60
"""Halvings that find an event within one step."""
SAMPLES = 16
"""Points within a step where the event is looked at."""


class Course(NamedTuple):
    """Where the integration is; times run forward also when the client's run backward."""

    t: Any
    y: Any
    size: Any
    error: Any
    stiff: Any
    implicit: Any
    vector: Any
    saved: Any
    index: Any
    event: Any
    steps: Any
    rejected: Any
    outcome: Any


@dataclass(frozen=True)
class Integration:
    """Integrate y' = f(t, y); ``steppers`` are one method, or explicit and implicit for auto."""

    f: Callable[[Any, Any], Any]
    steppers: tuple[Stepper, ...]
    y0: Any
    times: tuple[Any, Any]
    save: Any
    event: Callable[[Any, Any], Any] | None
    rtol: float
    atol: Any
    first: float | None
    max_steps: int
    answer: Callable[[Course], dict[str, Any]]

    def init(self) -> Course:
        """The start, with a first step chosen from the slopes there."""
        t0, t1 = self.times
        y, dtype = self.y0, self.y0.dtype
        zero = jnp.zeros((), jnp.int32)
        finite = all_finite(y, self.f(t0, y))
        outcome = jnp.where(t0 >= t1, Outcome.END, Outcome.RUNNING)
        outcome = jnp.where(finite, outcome, Outcome.START).astype(jnp.int32)
        vector = jnp.cos(jnp.arange(y.size, dtype=dtype) + 1.0)
        saved = jnp.full((self.save.size, y.size), jnp.nan, dtype)
        saved = jnp.where((self.save <= t0)[:, None], y, saved)
        return Course(
            t=t0, y=y, size=self._first_step(), error=jnp.ones((), dtype),
            stiff=zero, implicit=jnp.zeros((), bool), vector=vector / jnp.linalg.norm(vector),
            saved=saved, index=jnp.sum(self.save <= t0).astype(jnp.int32), event=self._event(t0, y),
            steps=zero, rejected=zero, outcome=outcome,
        )  # fmt: skip

    def _first_step(self) -> Any:
        """Hairer, Norsett and Wanner's choice, section II.4, or the client's."""
        t0, t1 = self.times
        if self.first is not None:
            return jnp.minimum(jnp.asarray(self.first, self.y0.dtype), t1 - t0)
        scale = self.atol + self.rtol * jnp.abs(self.y0)
        slope = self.f(t0, self.y0)
        d0, d1 = _rms(self.y0 / scale), _rms(slope / scale)
        h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 > 0, d1, 1.0))
        bent = (self.f(t0 + h0, self.y0 + h0 * slope) - slope) / scale
        d2 = _rms(bent) / h0
        largest = jnp.maximum(d1, d2)
        order = self.steppers[0].order
        h1 = jnp.where(
            largest <= 1e-15,
            jnp.maximum(1e-6, 1e-3 * h0),
            (0.01 / jnp.where(largest > 0, largest, 1.0)) ** (1.0 / order),
        )
        chosen = jnp.minimum(100.0 * h0, h1)
        chosen = jnp.where(jnp.isfinite(chosen) & (chosen > 0), chosen, 1e-6)
        return jnp.minimum(chosen, t1 - t0)

    def step(self, state: Course) -> Course:
        """Try one step and take it where its error is within tolerance."""
        if len(self.steppers) == 1:
            return self._try(self.steppers[0], state)
        explicit, implicit = self.steppers
        return jax.lax.cond(
            state.implicit,
            lambda c: self._try(implicit, c),
            lambda c: self._watch(self._try(explicit, c), c),
            state,
        )

    def _watch(self, new: Course, old: Course) -> Course:
        """Count steps held by stability; go over to the implicit method after some."""
        size, vector = radius(self.f, new.t, new.y, old.vector)
        held = (new.t - old.t) * size > STIFF
        taken = new.t > old.t
        count = jnp.where(held, old.stiff + 1, jnp.maximum(old.stiff - 1, 0))
        stiff = jnp.where(taken, count, old.stiff).astype(jnp.int32)
        return new._replace(stiff=stiff, vector=vector, implicit=stiff >= PATIENCE)

    def _try(self, stepper: Stepper, c: Course) -> Course:
        t1 = self.times[1]
        aim = t1
        if stepper.implicit and self.save.size:
            # Its dense output is coarse: stop at each save point.
            ahead = self.save[jnp.minimum(c.index, self.save.size - 1)]
            aim = jnp.where(c.index < self.save.size, jnp.minimum(ahead, t1), t1)
        last = c.t + 1.01 * c.size >= aim
        following = jnp.where(last, aim, c.t + c.size)
        tried, dense = stepper.step(c.t, following, c.y)
        scale = self.atol + self.rtol * jnp.maximum(jnp.abs(c.y), jnp.abs(tried.y))
        error = _rms(tried.error / scale)
        taken = error <= 1.0
        width = following - c.t
        size = width * self._factor(stepper, error, c.error, taken)
        size = jnp.where(last & taken, jnp.maximum(size, c.size), size)
        saved, index = self._save(stepper, c, following, dense, tried, taken)
        new = c._replace(
            t=jnp.where(taken, following, c.t),
            y=jnp.where(taken, tried.y, c.y),
            size=size,
            error=jnp.where(taken, jnp.maximum(error, 1e-4), c.error),
            saved=saved,
            index=index,
            steps=c.steps + 1,
            rejected=c.rejected + (~taken).astype(jnp.int32),
        )
        new = new._replace(outcome=self._outcome(new, taken))
        return self._happened(stepper, c, new, following, dense, taken)

    def _factor(self, stepper: Stepper, error: Any, before: Any, taken: Any) -> Any:
        """A PI controller: grow by at most 10, shrink by at least 5; never grow after failing."""
        order = stepper.order
        safe = jnp.where(error > 0, error, 1e-10)
        smooth = safe ** (-0.7 / order) * before ** (0.4 / order)
        plain = safe ** (-1.0 / order)
        wide = jnp.clip(0.9 * smooth, 0.2, 10.0)
        narrow = jnp.clip(0.9 * plain, 0.1, 0.9)
        return jnp.where(taken, wide, jnp.where(jnp.isfinite(error), narrow, 0.1))

    def _save(
        self, stepper: Stepper, c: Course, following: Any, dense: Any, tried: Tried, taken: Any
    ) -> tuple[Any, Any]:
        """Fill in the save points that lie within the step."""
        count = self.save.size
        if not count:
            return c.saved, c.index

        def more(carry: tuple[Any, Any]) -> Any:
            index = carry[1]
            at = self.save[jnp.minimum(index, count - 1)]
            return taken & (index < count) & (at <= following)

        def fill(carry: tuple[Any, Any]) -> tuple[Any, Any]:
            saved, index = carry
            at = self.save[index]
            y = jnp.where(at == following, tried.y, stepper.between(c.t, following, dense, at))
            return saved.at[index].set(y), index + 1

        return jax.lax.while_loop(more, fill, (c.saved, c.index))

    def _outcome(self, new: Course, taken: Any) -> Any:
        t1 = self.times[1]
        eps = jnp.finfo(new.t.dtype).eps
        room = jnp.maximum(jnp.abs(new.t), (t1 - self.times[0]) * eps)
        outcome = jnp.where(new.steps >= self.max_steps, Outcome.LIMIT, Outcome.RUNNING)
        outcome = jnp.where(~taken & (new.size <= 4 * eps * room), Outcome.STEP_UNDERFLOW, outcome)
        outcome = jnp.where(new.t >= t1, Outcome.END, outcome)
        huge = jnp.max(jnp.abs(new.y)) > jnp.finfo(new.y.dtype).max ** 0.5
        return jnp.where(huge, Outcome.STEP_UNDERFLOW, outcome).astype(jnp.int32)

    def _event(self, t: Any, y: Any) -> Any:
        return jnp.zeros_like(self.y0[0]) if self.event is None else self.event(t, y)

    def _happened(
        self, stepper: Stepper, old: Course, new: Course, following: Any, dense: Any, taken: Any
    ) -> Course:
        """Stop at the first change of the event's sign within the step, found by halving."""
        event = self.event
        if event is None:
            return new
        parts = old.t + (following - old.t) * jnp.linspace(0.0, 1.0, SAMPLES + 1)[1:]
        inside = jax.vmap(lambda at: stepper.between(old.t, following, dense, at))(parts[:-1])
        values = jax.vmap(event)(parts, jnp.concatenate([inside, new.y[None]]))
        changed = jnp.sign(values) * jnp.sign(old.event) < 0
        changed = changed | ((values == 0) & (old.event != 0))
        found = taken & jnp.any(changed)
        at = jnp.argmax(changed)
        low = jnp.where(at > 0, parts[jnp.maximum(at - 1, 0)], old.t)

        def halve(_: Any, ends: tuple[Any, Any]) -> tuple[Any, Any]:
            low, high = ends
            middle = 0.5 * (low + high)
            y = stepper.step(old.t, middle, old.y)[0].y
            before = jnp.sign(event(middle, y)) == jnp.sign(old.event)
            return jnp.where(before, middle, low), jnp.where(before, high, middle)

        def locate() -> tuple[Any, Any]:
            _, t = jax.lax.fori_loop(0, SHARPEN, halve, (low, parts[at]))
            return t, stepper.step(old.t, t, old.y)[0].y

        t, y = jax.lax.cond(found, locate, lambda: (new.t, new.y))
        outcome = jnp.where(found, Outcome.EVENT, new.outcome).astype(jnp.int32)
        passed = (self.save > t)[:, None] & found
        saved = jnp.where(passed, jnp.nan, new.saved)
        here = jnp.where(taken, self._event(new.t, new.y), old.event)
        here = jnp.where(here == 0, old.event, here)
        return new._replace(t=t, y=y, event=here, outcome=outcome, saved=saved)

    def done(self, state: Course) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Course) -> dict[str, Any]:
        """Steps, the time reached as a part of the whole, and the step size."""
        t0, t1 = self.times
        whole = jnp.where(t1 > t0, t1 - t0, 1.0)
        return {
            "iteration": state.steps,
            "fraction": (state.t - t0) / whole,
            "step_size": state.size,
        }

    def finish(self, state: Course) -> dict[str, Any]:
        """The solution in the client's shapes and direction of time."""
        return self.answer(state)


def _rms(v: Any) -> Any:
    return jnp.sqrt(jnp.mean(v * v))
