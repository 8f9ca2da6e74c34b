"""The same problem from many starts at once: the best solution, and what became of every start.

The starts are given (``starts``), or drawn around the one given: over the box where it is finite,
else normally, ``spread`` times the size of each unknown away. The one given is always among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls.call import Call
from app.compute.programs.leaves import is_sparse
from app.compute.solvers import machine
from app.compute.solvers import options as read
from app.compute.solvers.box import Box
from app.compute.solvers.implicit import succeeded
from app.compute.solvers.machine import Machine
from app.compute.solvers.minimize.newton import choose
from app.compute.solvers.seed import seed
from app.compute.solvers.unknowns import Unknowns
from app.core.errors import InvalidArgument

MOST_STARTS = 10_000
FIELDS = ("count", "spread")


@dataclass(frozen=True)
class MultiStart:
    """Runs the machine of ``one(x)`` for every row x of ``points`` (m, n)."""

    one: Callable[[Any], Machine]
    points: Any
    pack: Callable[[Any], Any]

    def init(self) -> Any:
        """All starts."""
        return jax.vmap(lambda x: machine.start(self.one(x)))(self.points)

    def step(self, state: Any) -> Any:
        """One iteration of each that is not done."""

        def on(x: Any, state: Any) -> Any:
            one = self.one(x)
            return choose(one.done(state), state, one.step(state))

        return jax.vmap(on)(self.points, state)

    def done(self, state: Any) -> Any:
        """Whether all are."""
        return jnp.all(self._done(state))

    def progress(self, state: Any) -> dict[str, Any]:
        """That of the lowest value so far, and how many are still on their way."""
        told = jax.vmap(lambda x, s: self.one(x).progress(s))(self.points, state)
        at = _lowest(told["value"], jnp.ones(len(self.points), bool))
        best = jax.tree.map(lambda leaf: leaf[at], told)
        iteration = jnp.max(told["iteration"])
        return {**best, "iteration": iteration, "running": jnp.sum(~self._done(state))}

    def finish(self, state: Any) -> dict[str, Any]:
        """The result with the lowest value of those that succeeded; ``starts``: of every one."""
        found = jax.vmap(lambda x, s: self.one(x).finish(s))(self.points, state)
        success = jax.vmap(succeeded)(found["outcome"])
        best = jax.tree.map(lambda leaf: leaf[_lowest(found["value"], success)], found)
        return {
            **best,
            "evaluations": jnp.sum(found["evaluations"]),
            "starts": {
                "start": jax.vmap(self.pack)(self.points),
                "solution": found["solution"],
                "value": found["value"],
                "success": success,
            },
        }

    def _done(self, state: Any) -> Any:
        return jax.vmap(lambda x, s: self.one(x).done(s))(self.points, state)


def _lowest(values: Any, good: Any) -> Any:
    """Where the lowest value is, first among the good, then among the finite."""
    finite = jnp.isfinite(values)
    ranked = jnp.where(finite, values, jnp.inf)
    low = jnp.where(good & finite, ranked, jnp.inf)
    return jnp.where(jnp.any(good & finite), jnp.argmin(low), jnp.argmin(ranked))


def from_starts(
    call: Call, unknowns: Unknowns, box: Box, one: Callable[[Unknowns], Machine]
) -> Machine:
    """The machine of ``one`` start, or of all that the call asks for."""
    points = points_of(call, unknowns, box)
    if points is None:
        return one(unknowns)
    return MultiStart(lambda x: one(replace(unknowns, start=x)), points, unknowns.pack)


def points_of(call: Call, unknowns: Unknowns, box: Box) -> Any:
    """The starts that a call asks for (m, n), or None."""
    given, drawn = call.directions.get("starts"), call.options.get("multi_start")
    if drawn is None:
        read.unused(call, ("seed",), "means nothing where no starts are drawn", "see multi_start")
    if given is None and drawn is None:
        return None
    if given is not None and drawn is not None:
        raise InvalidArgument("starts are given or drawn, not both", pointer="/starts")
    if given is not None:
        return _given(given, unknowns.start)
    return _drawn(call, drawn, unknowns.start, box)


def _given(given: Any, x: Any) -> Any:
    shape = () if is_sparse(given) else getattr(given, "shape", ())
    size = 1
    for length in shape[1:]:
        size *= length
    if not shape or not 0 < shape[0] <= MOST_STARTS or size != x.size:
        raise InvalidArgument(
            f"starts has shape {list(shape)}; there are {x.size} unknowns",
            pointer="/starts",
            hint=f"one row of {x.size} numbers for each start, {MOST_STARTS} at most",
        )
    read.require_real_numbers(given, "/starts")
    return jnp.concatenate([x[None], given.reshape(shape[0], size).astype(x.dtype)])


def _drawn(call: Call, drawn: Any, x: Any, box: Box) -> Any:
    if not isinstance(drawn, Mapping) or not set(drawn) <= set(FIELDS):
        raise InvalidArgument(
            "multi_start says how many starts to draw, and how far",
            pointer="/multi_start",
            hint='{"count": 20, "spread": 1.0}, and seed beside it',
        )
    count = read.count(drawn, "count", 20, at="/multi_start")
    spread = read.number(drawn, "spread", 1.0, at="/multi_start")
    if count > MOST_STARTS:
        raise InvalidArgument(f"{MOST_STARTS} starts at most", pointer="/multi_start/count")
    near, wide = jax.random.split(seed(call))
    around = jax.random.normal(near, (count - 1, x.size), x.dtype)
    around = x + spread * jnp.maximum(jnp.abs(x), 1.0) * around
    finite = jnp.isfinite(box.lower) & jnp.isfinite(box.upper)
    lower, upper = (jnp.where(finite, end, 0.0) for end in (box.lower, box.upper))
    part = jax.random.uniform(wide, (count - 1, x.size), x.dtype)
    inside = lower + part * (upper - lower)
    return jnp.concatenate([x[None], box.project(jnp.where(finite, inside, around))])
