"""A solver as a machine of pure steps: run whole in one program, or in chunks by several.

``init`` makes a state, ``step`` advances it by one iteration, ``finish`` reads the result. The
state is a pytree of arrays, so that it can be kept, sent and resumed; chunks do the very steps
of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from app.core.errors import InvalidArgument

PHASES = ("init", "advance", "finish")
GROUPS: Mapping[str, int | None] = {"state": 0, "steps": None}
"""Inputs of the chunk programs, with the axis that ``vmap`` maps in each."""
UNBOUNDED = 2**31 - 1
MACHINE_OPTIONS = frozenset({"phase", "max_steps"})

State = Any


class Machine(Protocol):
    """One solver on one problem; holds the traced arguments, so it lives inside one trace."""

    def init(self) -> State: ...

    def step(self, state: State) -> State:
        """One iteration; never called once ``done``."""
        ...

    def done(self, state: State) -> Any:
        """A boolean scalar."""
        ...

    def progress(self, state: State) -> dict[str, Any]:
        """Scalars to tell while running: iteration, value, what measures convergence."""
        ...

    def finish(self, state: State) -> dict[str, Any]:
        """The result; ``outcome`` is a code."""
        ...


@runtime_checkable
class Striding(Protocol):
    """A machine with a cheaper way to take many steps at once."""

    def stride(self, state: State, most: Any) -> tuple[State, Any]:
        """At least one step and at most ``most``; also how many. Never called once ``done``."""
        ...


def run(machine: Machine, options: Mapping[str, Any], groups: Mapping[str, Any]) -> Any:
    """The whole solve, or the phase that ``options`` names."""
    phase = options.get("phase")
    if phase is None:
        return machine.finish(advance(machine, start(machine)))
    if phase not in PHASES:
        raise InvalidArgument(f"there is no phase {phase!r}", pointer="/phase")
    if phase == "init":
        return _said(machine, start(machine))
    state = _restored(machine, groups)
    if phase == "finish":
        return machine.finish(state)
    if "steps" not in groups:
        raise InvalidArgument("advance needs steps", pointer="/steps")
    return _said(machine, advance(machine, state, groups["steps"]))


def start(machine: Machine) -> State:
    """The first state, with the types that it keeps."""
    return jax.tree.map(_strong, machine.init())


def advance(machine: Machine, state: State, steps: Any = None) -> State:
    """Step until done, or at most ``steps`` times."""
    if steps is None and not isinstance(machine, Striding):
        return jax.lax.while_loop(lambda s: ~machine.done(s), machine.step, state)
    most = jnp.asarray(UNBOUNDED, jnp.int32) if steps is None else steps

    def more(carry: tuple[Any, State]) -> Any:
        return (carry[0] < most) & ~machine.done(carry[1])

    def body(carry: tuple[Any, State]) -> tuple[Any, State]:
        count, state = carry
        if isinstance(machine, Striding):
            state, taken = machine.stride(state, most - count)
            return count + taken, state
        return count + 1, machine.step(state)

    return jax.lax.while_loop(more, body, (jnp.zeros_like(most), state))[1]


def _said(machine: Machine, state: State) -> dict[str, Any]:
    progress = {**machine.progress(state), "done": machine.done(state)}
    return {"state": jax.tree.leaves(state), "progress": progress}


def _restored(machine: Machine, groups: Mapping[str, Any]) -> State:
    shapes = jax.eval_shape(lambda: start(machine))
    leaves, treedef = jax.tree.flatten(shapes)
    given = groups.get("state")
    if not isinstance(given, list) or len(given) != len(leaves):
        raise InvalidArgument(f"state is a list of {len(leaves)} arrays", pointer="/state")
    for place, (leaf, shape) in enumerate(zip(given, leaves, strict=True)):
        if leaf.shape != shape.shape or leaf.dtype != shape.dtype:
            raise InvalidArgument("not a state of this solver", pointer=f"/state/{place}")
    return jax.tree.unflatten(treedef, given)


def _strong(leaf: Any) -> Any:
    """An array whose type no longer gives way to another's."""
    array = jnp.asarray(leaf)
    return jax.lax.convert_element_type(array, array.dtype)
