"""A machine that also remembers the way it came: ``trace`` in its result.

It keeps what the machine tells of its progress at the start and after each iteration. When its
rows are full, every second one is dropped and from then on half as many are kept, so that they
stay evenly spaced over any number of iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from app.compute.solvers.machine import Machine
from app.compute.solvers.unknowns import SHOWN_UNKNOWNS
from app.core.errors import InvalidArgument

ROWS = 128


class Trace(NamedTuple):
    """The machine's own state; rows of progress (ROWS, ...); iterations so far and between rows."""

    inner: Any
    rows: Any
    count: Any
    stride: Any


@dataclass(frozen=True)
class Traced:
    """Runs ``machine`` unchanged."""

    machine: Machine

    def init(self) -> Trace:
        """The start is the first row."""
        inner = self.machine.init()
        one = jnp.ones((), jnp.int32)
        empty = jax.tree.map(
            lambda leaf: jnp.zeros((ROWS, *leaf.shape), leaf.dtype), self._row(inner)
        )
        return _kept(Trace(inner, empty, 0 * one, one), self._row(inner))

    def step(self, state: Trace) -> Trace:
        """One iteration of the machine, and its row where it is its turn."""
        inner = self.machine.step(state.inner)
        return _kept(state._replace(inner=inner, count=state.count + 1), self._row(inner))

    def done(self, state: Trace) -> Any:
        """Whether the machine is."""
        return self.machine.done(state.inner)

    def progress(self, state: Trace) -> dict[str, Any]:
        """The machine's own."""
        return self.machine.progress(state.inner)

    def finish(self, state: Trace) -> dict[str, Any]:
        """The machine's result with ``trace``: rows from start to end, the end repeated."""
        last = self._row(state.inner)
        known = jnp.arange(ROWS) <= jnp.minimum(state.count // state.stride, ROWS - 2)

        def filled(rows: Any, row: Any) -> Any:
            return jnp.where(known.reshape(-1, *[1] * row.ndim), rows, row)

        trace = jax.tree.map(filled, state.rows, last)
        return {**self.machine.finish(state.inner), "trace": trace}

    def _row(self, inner: Any) -> dict[str, Any]:
        return jax.tree.map(jnp.asarray, self.machine.progress(inner))


def _kept(state: Trace, row: Any) -> Trace:
    """The row put in its place; every second row dropped first where there is none left."""
    full = state.count >= state.stride * ROWS
    stride = jnp.where(full, 2 * state.stride, state.stride)
    place = jnp.where(state.count % stride == 0, state.count // stride, ROWS)

    def put(rows: Any, new: Any) -> Any:
        half = jnp.concatenate([rows[::2], jnp.zeros_like(rows[::2])])
        return jnp.where(full, half, rows).at[place].set(new, mode="drop")

    return state._replace(rows=jax.tree.map(put, state.rows, row), stride=stride)


def traced(machine: Machine, options: Mapping[str, Any]) -> Machine:
    """The machine, remembering its way where ``trace`` asks for it."""
    if not options.get("trace"):
        return machine
    if "x" not in jax.eval_shape(lambda: machine.progress(machine.init())):
        raise InvalidArgument(
            f"trace keeps the way of {SHOWN_UNKNOWNS} unknowns at most", pointer="/trace"
        )
    return Traced(machine)
