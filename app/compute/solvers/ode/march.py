"""Steps from one time to the next that can be differentiated, in reverse too.

``march`` is differentiated through its steps with recursive checkpoints: memory grows with the
logarithm of their number. ``march_back`` is differentiated by the adjoint equation, solved
backwards with the solution itself: constant memory, the derivative as exact as the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from app.compute.solvers.ode.control import Control, growth, rms
from app.compute.solvers.ode.steps import Slope, Stepper


class Marched(NamedTuple):
    """Where it is; the size of the next step, the error of the last; steps tried."""

    t: Any
    y: Any
    size: Any
    error: Any
    steps: Any

    @classmethod
    def at(cls, t: Any, y: Any, size: Any) -> Marched:
        """A start."""
        return cls(t, y, size, jnp.ones_like(size), jnp.zeros((), jnp.int32))


def march(
    stepper: Stepper,
    control: Control,
    now: Marched,
    end: Any,
    most: int,
    kind: Literal["checkpointed", "lax"] = "checkpointed",
) -> Marched:
    """Steps up to ``end``, or ``most`` of them; t tells how far it came.

    Differentiated in reverse where ``checkpointed``, forward alone where ``lax``.
    """

    def more(now: Marched) -> Any:
        return now.t < end

    def step(now: Marched) -> Marched:
        last = now.t + 1.01 * now.size >= end
        following = jnp.where(last, end, now.t + now.size)
        tried, _ = stepper.step(now.t, following, now.y, Slope.unknown(now.y))
        if stepper.fixed:
            return now._replace(t=following, y=tried.y, steps=now.steps + 1)
        error = jax.lax.stop_gradient(rms(tried.error / control.scale(now.y, tried.y)))
        taken = error <= 1.0
        grown = growth(stepper.order, error, now.error, taken, stepper.memory)
        size = (following - now.t) * grown
        return Marched(
            t=jnp.where(taken, following, now.t),
            y=jnp.where(taken, tried.y, now.y),
            size=jnp.where(last & taken, jnp.maximum(size, now.size), size),
            error=jnp.where(taken, jnp.maximum(error, 1e-4), now.error),
            steps=now.steps + 1,
        )

    if kind == "checkpointed":
        return eqxi.while_loop(more, step, now, max_steps=most, kind="checkpointed")
    begun = now.steps
    return jax.lax.while_loop(lambda now: more(now) & (now.steps - begun < most), step, now)


def march_back(
    make: Callable[[Callable[[Any, Any], Any], Control], Stepper],
    f: Callable[[Any, Any, Any], Any],
    control: Control,
    parameters: Any,
    now: Marched,
    end: Any,
    most: int,
) -> Marched:
    """The same, differentiated in y and ``parameters`` by the adjoint equation.

    ``make`` gives the stepper of a right side and its tolerances; ``f(t, y, parameters)`` must
    close over nothing that is traced.
    """
    theta, restore = ravel_pytree(parameters)
    plain = Control(control.rtol, np.min(control.atol))

    @jax.custom_vjp
    def forward(y: Any, theta: Any, now: Marched, end: Any) -> Marched:
        stepper = make(lambda t, y: f(t, y, restore(theta)), control)
        return march(stepper, control, now._replace(y=y), end, most, kind="lax")

    def ahead(y: Any, theta: Any, now: Marched, end: Any) -> tuple[Marched, Any]:
        found = forward(y, theta, now, end)
        return found, (found.y, theta, now, end)

    def back(kept: Any, cotangent: Marched) -> Any:
        y, theta, now, end = kept
        size = y.size

        def augmented(s: Any, z: Any) -> Any:
            y, adjoint = z[:size], z[size : 2 * size]
            slope, pull = jax.vjp(lambda y, theta: f(-s, y, restore(theta)), y, theta)
            along_y, along_theta = pull(adjoint)
            return jnp.concatenate([-slope, along_y, along_theta])

        z = jnp.concatenate([y, cotangent.y, jnp.zeros_like(theta)])
        start = Marched.at(-end, z, jnp.minimum(now.size, end - now.t))
        found = march(make(augmented, plain), plain, start, -now.t, most, kind="lax")
        reached = jnp.where(found.t >= -now.t, found.y, jnp.nan)
        zeros = jax.tree.map(_no_cotangent, (now, end))
        return (reached[size : 2 * size], reached[2 * size :], *zeros)

    forward.defvjp(ahead, back)
    return forward(now.y, theta, now, end)


def _no_cotangent(leaf: Any) -> Any:
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        return jnp.zeros_like(leaf)
    return jnp.zeros(leaf.shape, jax.dtypes.float0)
