"""The constraints of ``minimize``: read from a call, and put into an augmented Lagrangian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from app.compute.calls import results
from app.compute.calls.call import Call
from app.compute.solvers import options as read
from app.compute.solvers.unknowns import Unknowns
from app.core.errors import InvalidArgument

KINDS = ("equality", "inequality")


class Multipliers(NamedTuple):
    """Of the equalities and the inequalities, and the penalty."""

    equal: Any
    least: Any
    penalty: Any


@dataclass(frozen=True)
class Constraints:
    """Functions of a flat vector: ``equal`` (p,) to be zero, ``least`` (q,) to be at least zero."""

    equal: Callable[[Any], Any]
    least: Callable[[Any], Any]

    def lagrangian(self, value: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """The augmented Lagrangian of an objective, as a function of x and multipliers."""

        def augmented(x: Any, extra: Multipliers) -> Any:
            c, d, mu = self.equal(x), self.least(x), extra.penalty
            kept = jnp.maximum(0.0, extra.least - mu * d)
            total = value(x, ()) + jnp.sum(c * (extra.equal + 0.5 * mu * c))
            return total + jnp.sum(kept**2 - extra.least**2) / (2.0 * mu)

        return augmented


def constraints_of(call: Call, unknowns: Unknowns) -> Constraints | None:
    """``constraints``: names of functions of the source, taking the same arguments."""
    given = call.options.get("constraints")
    if not given:
        return None
    if not isinstance(given, dict) or not set(given) <= set(KINDS):
        raise InvalidArgument(
            "constraints names functions of the source",
            pointer="/constraints",
            hint='{"equality": "h", "inequality": ["g1", "g2"]}: h(x) = 0, g(x) >= 0',
        )
    return Constraints(*(_stacked(call, unknowns, given.get(kind, []), kind) for kind in KINDS))


def _stacked(call: Call, unknowns: Unknowns, names: Any, kind: str) -> Callable[[Any], Any]:
    """All constraints of a kind as one vector."""
    where = f"/constraints/{kind}"
    if isinstance(names, str):
        functions = [read.function(call, names, where)]
    else:
        functions = [read.function(call, name, f"{where}/{at}") for at, name in enumerate(names)]

    def stacked(x: Any) -> Any:
        args = list(call.args)
        for position, tree in zip(call.wrt.positions, unknowns.trees(x), strict=True):
            args[position] = tree
        values = [results.arrays(function(*args)) for function in functions]
        read.require_real_numbers(values, where)
        parts = [ravel_pytree(value)[0] for value in values]
        return jnp.concatenate([jnp.zeros(0, x.dtype), *parts]).astype(x.dtype)

    return stacked
