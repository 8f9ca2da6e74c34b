"""``ode`` as a machine: steps from t0 to t1, save points, one event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.minimize.newton import all_finite
from app.compute.solvers.ode.control import Control, growth, rms
from app.compute.solvers.ode.events import Event
from app.compute.solvers.ode.integrators import PATIENCE, STIFF, radius
from app.compute.solvers.ode.overlooked import overlooked, points
from app.compute.solvers.ode.pieces import Dense
from app.compute.solvers.ode.steps import Slope, Stepper, Tried
from app.compute.solvers.ode.times import Times
from app.compute.solvers.outcomes import Outcome


class Course(NamedTuple):
    """Where the integration is; times run forward also when the client's run backward."""

    t: Any
    y: Any
    slope: Slope
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
    pieces: Any


@dataclass(frozen=True)
class Integration:
    """Integrate y' = f(t, y); ``steppers`` are one method, or explicit and implicit for auto."""

    f: Callable[[Any, Any], Any]
    steppers: tuple[Stepper, ...]
    y0: Any
    times: Times
    event: Event | None
    control: Control
    first: float | None
    max_steps: int
    timed: bool
    dense: Dense | None
    answer: Callable[[Course], dict[str, Any]]

    def init(self) -> Course:
        """The start, with a first step chosen from the slopes there."""
        t0, t1 = self.times.start, self.times.end
        y, dtype = self.y0, self.y0.dtype
        zero = jnp.zeros((), jnp.int32)
        finite = all_finite(y, self.f(t0, y))
        outcome = jnp.where(t0 >= t1, Outcome.END, Outcome.RUNNING)
        outcome = jnp.where(finite, outcome, Outcome.START)
        outcome = jnp.where(self.times.good, outcome, Outcome.TIMES).astype(jnp.int32)
        vector = jnp.cos(jnp.arange(y.size, dtype=dtype) + 1.0)
        before = self.times.save <= t0
        saved = jnp.where(
            (self.times.save == t0)[:, None], y, jnp.full((before.size, y.size), jnp.nan, dtype)
        )
        return Course(
            t=t0, y=y, slope=Slope.unknown(y), size=self._first_step(), error=jnp.ones((), dtype),
            stiff=zero, implicit=jnp.zeros((), bool), vector=vector / jnp.linalg.norm(vector),
            saved=saved, index=jnp.sum(before).astype(jnp.int32),
            event=jnp.zeros((), dtype) if self.event is None else self.event.g(t0, y),
            steps=zero, rejected=zero, outcome=outcome,
            pieces=None if self.dense is None else self.dense.start(t0, y),
        )  # fmt: skip

    def _first_step(self) -> Any:
        """The client's choice or one from the slopes; a fixed step goes a whole number of times."""
        t0, t1 = self.times.start, self.times.end
        if self.steppers[0].fixed:
            first = (t1 - t0) / 1000 if self.first is None else self.first
            return (t1 - t0) / jnp.maximum(1.0, jnp.ceil((t1 - t0) / first))
        if self.first is not None:
            return jnp.minimum(jnp.asarray(self.first, self.y0.dtype), t1 - t0)
        return self.control.first(self.f, self.steppers[0].order, (t0, t1), self.y0)

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

    def is_stiff(self) -> Any:
        """Whether the explicit one of two methods gives up, looked at without the other."""
        explicit = self.steppers[0]

        def more(state: Course) -> Any:
            return (state.outcome == Outcome.RUNNING) & ~state.implicit

        def step(state: Course) -> Course:
            return self._watch(self._try(explicit, state), state)

        return jax.lax.while_loop(more, step, jax.tree.map(jnp.asarray, self.init())).implicit

    def _watch(self, new: Course, old: Course) -> Course:
        """Count steps held by stability; go over to the implicit method after some."""
        size, vector = radius(self.f, new.t, new.y, old.vector)
        held = (new.t - old.t) * size > STIFF
        taken = new.t > old.t
        count = jnp.where(held, old.stiff + 1, jnp.maximum(old.stiff - 1, 0))
        stiff = jnp.where(taken, count, old.stiff).astype(jnp.int32)
        return new._replace(stiff=stiff, vector=vector, implicit=stiff >= PATIENCE)

    def _try(self, stepper: Stepper, c: Course) -> Course:
        following, last = self._aim(stepper, c)
        tried, dense = stepper.step(c.t, following, c.y, c.slope)
        scale = self.control.scale(c.y, tried.y)
        blind = self._overlooked(stepper, c, following, tried, dense, scale)
        error = jnp.where(blind, jnp.inf, rms(tried.error / scale))
        taken = error <= 1.0
        size = c.size
        if not stepper.fixed:
            size = (following - c.t) * growth(stepper.order, error, c.error, taken, stepper.memory)
            size = jnp.where(last & taken, jnp.maximum(size, c.size), size)
        saved, index = self._save(stepper, c, following, dense, tried, taken)
        new = c._replace(
            t=jnp.where(taken, following, c.t),
            y=jnp.where(taken, tried.y, c.y),
            slope=jax.tree.map(lambda new, old: jnp.where(taken, new, old), tried.slope, c.slope),
            size=size,
            error=jnp.where(taken, jnp.maximum(error, 1e-4), c.error),
            saved=saved,
            index=index,
            steps=c.steps + 1,
            rejected=c.rejected + (~taken).astype(jnp.int32),
        )
        new = new._replace(outcome=self._outcome(stepper, new, taken))
        new = self._search(stepper, c, new, following, dense, taken)
        return self._keep(stepper, c, new, following, dense, taken)

    def _aim(self, stepper: Stepper, c: Course) -> tuple[Any, Any]:
        """Where the next step ends, and whether that is where it had to stop."""
        aim, save = self.times.end, self.times.save
        if stepper.stops and save.size:
            ahead = save[jnp.minimum(c.index, save.size - 1)]
            aim = jnp.where(c.index < save.size, jnp.minimum(ahead, aim), aim)
        last = c.t + 1.01 * c.size >= aim
        following = c.t + c.size
        if stepper.fixed and not stepper.stops:
            # Counted from the start: a million additions would lose digits of the time.
            following = self.times.start + (c.steps + 1).astype(c.t.dtype) * c.size
        return jnp.where(last, aim, following), last

    def _overlooked(
        self, stepper: Stepper, c: Course, following: Any, tried: Tried, dense: Any, scale: Any
    ) -> Any:
        """Whether a pulse in time lies within the step that none of its stages saw."""
        if not self.timed or stepper.fixed or stepper.stops:
            return jnp.zeros((), bool)

        def between(at: Any) -> Any:
            return stepper.between(c.t, following, dense, at)

        part = (self.times.end - self.times.start) / points(c.y.size)
        ends = (c.t, following)
        return overlooked(self.f, between, ends, part, tried.y - c.y, scale)

    def _save(
        self, stepper: Stepper, c: Course, following: Any, dense: Any, tried: Tried, taken: Any
    ) -> tuple[Any, Any]:
        """Fill in the save points that lie within the step."""
        count = self.times.save.size
        if not count:
            return c.saved, c.index

        def more(carry: tuple[Any, Any]) -> Any:
            index = carry[1]
            at = self.times.save[jnp.minimum(index, count - 1)]
            return taken & (index < count) & (at <= following)

        def fill(carry: tuple[Any, Any]) -> tuple[Any, Any]:
            saved, index = carry
            at = self.times.save[index]
            y = jnp.where(at == following, tried.y, stepper.between(c.t, following, dense, at))
            return saved.at[index].set(y), index + 1

        return jax.lax.while_loop(more, fill, (c.saved, c.index))

    def _outcome(self, stepper: Stepper, new: Course, taken: Any) -> Any:
        t1 = self.times.end
        eps = jnp.finfo(new.t.dtype).eps
        room = jnp.maximum(jnp.abs(new.t), (t1 - self.times.start) * eps)
        outcome = jnp.where(new.steps >= self.max_steps, Outcome.LIMIT, Outcome.RUNNING)
        if stepper.fixed:
            outcome = jnp.where(~taken, Outcome.NOT_FINITE, outcome)
        outcome = jnp.where(~taken & (new.size <= 4 * eps * room), Outcome.STEP_UNDERFLOW, outcome)
        return jnp.where(new.t >= t1, Outcome.END, outcome).astype(jnp.int32)

    def _search(
        self, stepper: Stepper, old: Course, new: Course, following: Any, dense: Any, taken: Any
    ) -> Course:
        """Stop at the first change of the event's sign within a step that was taken."""
        if self.event is None:
            return new
        ends, states = (old.t, following), (old.y, new.y)
        found = self.event.search(stepper, ends, states, dense, old.event)
        happened = found.happened & taken
        outcome = jnp.where(happened, Outcome.EVENT, new.outcome).astype(jnp.int32)
        passed = (self.times.save > found.t)[:, None] & happened
        t = jnp.where(happened, found.t, new.t)
        y = jnp.where(happened, found.y, new.y)
        here = jnp.where(taken, self.event.g(t, y), old.event)
        return new._replace(
            t=t,
            y=y,
            event=jnp.where(here == 0, old.event, here),
            outcome=outcome,
            saved=jnp.where(passed, jnp.nan, new.saved),
        )

    def _keep(
        self, stepper: Stepper, old: Course, new: Course, following: Any, dense: Any, taken: Any
    ) -> Course:
        """Dense output of a step that was taken; stop where there is no room for another."""
        if self.dense is None:
            return new

        def between(at: Any) -> Any:
            return stepper.between(old.t, following, dense, at)

        count, room = old.steps - old.rejected, self.dense.room
        place = jnp.where(taken, count, room + 1)
        pieces = self.dense.keep(old.pieces, place, (old.t, old.y), (new.t, new.y), between)
        full = taken & (count + 1 >= room) & (new.outcome == Outcome.RUNNING)
        outcome = jnp.where(full, Outcome.ROOM, new.outcome).astype(jnp.int32)
        return new._replace(pieces=pieces, outcome=outcome)

    def done(self, state: Course) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Course) -> dict[str, Any]:
        """Steps, the time reached as a part of the whole, and the step size."""
        t0, t1 = self.times.start, self.times.end
        whole = jnp.where(t1 > t0, t1 - t0, 1.0)
        return {
            "iteration": state.steps,
            "fraction": (state.t - t0) / whole,
            "step_size": state.size,
        }

    def finish(self, state: Course) -> dict[str, Any]:
        """The solution in the client's shapes and direction of time."""
        return self.answer(state)
