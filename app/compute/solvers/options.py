"""Reads the fields of a solver call; every refusal names the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.compute.calls.call import Call
from app.compute.solvers.box import Box, unbounded
from app.core.errors import InvalidArgument, RefusedSource


def unused(call: Call, names: Sequence[str], why: str, hint: str) -> None:
    """Refuse the first of ``names`` that was given: it would change nothing."""
    for name in names:
        given = call.wrt.given if name == "wrt" else call.options.get(name) is not None
        if given or name in call.directions:
            raise InvalidArgument(f"{name} {why}", pointer=f"/{name}", hint=hint)


def function(call: Call, name: Any, pointer: str) -> Callable[..., Any]:
    """The function of the source that a field at ``pointer`` names."""
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidArgument("a function of the source is named here", pointer=pointer)
    try:
        return call.companion(name)
    except RefusedSource as error:
        single = "write the source as functions, of which the last is that of the call"
        hint = single if error.hint is None or "leave the entry out" in error.hint else error.hint
        raise InvalidArgument(error.detail, pointer=pointer, hint=hint) from None


def require_real_numbers(tree: Any, pointer: str) -> None:
    """Refuse a tree of results, or their shapes, that has complex ones: none is cut off."""
    for leaf in jax.tree.leaves(tree):
        if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
            raise InvalidArgument(
                f"the values are {leaf.dtype}: solvers take real ones",
                pointer=pointer,
                hint="take the real and imaginary parts apart, or abs(z)**2 of them",
            )


def number(options: Mapping[str, Any], name: str, default: float, *, at: str = "") -> float:
    """A positive number; ``at`` is the pointer of what holds it."""
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < np.inf:
        raise InvalidArgument(f"{name} is a positive number", pointer=f"{at}/{name}")
    return float(value)


def count(options: Mapping[str, Any], name: str, default: int, *, at: str = "") -> int:
    """A positive integer below 2^31."""
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
        raise InvalidArgument(
            f"{name} is a positive whole number below {2**31}", pointer=f"{at}/{name}"
        )
    return value


def one_of(options: Mapping[str, Any], name: str, known: Sequence[str], default: str) -> str:
    """One of the ``known`` words."""
    value = options.get(name, default)
    if value not in known:
        raise InvalidArgument(
            f"there is no {name} {value!r:.60}",
            pointer=f"/{name}",
            hint=f"one of {', '.join(known)}",
        )
    return value


def box(options: Mapping[str, Any], x: Any) -> Box | None:
    """``bounds``: one [lower, upper] for all, or one for each unknown in flat order; null: none."""
    given = options.get("bounds")
    if given is None:
        return None
    if not isinstance(given, (list, tuple)) or not given:
        raise InvalidArgument("bounds is a list of [lower, upper]", pointer="/bounds")
    if len(given) == 2 and not isinstance(given[0], (list, tuple)):
        given = [given] * x.size
    if len(given) != x.size:
        raise InvalidArgument(
            f"{len(given)} bounds were given for {x.size} unknowns",
            pointer="/bounds",
            hint="[lower, upper] for each unknown in flat order, or one pair for all; "
            "null where there is none",
        )
    lower, upper = zip(*(_interval(pair, at) for at, pair in enumerate(given)), strict=True)
    return Box(jnp.asarray(lower, x.dtype), jnp.asarray(upper, x.dtype))


def box_or_space(options: Mapping[str, Any], x: Any) -> Box:
    """``bounds``, or the whole space."""
    return box(options, x) or unbounded(x)


def _interval(pair: Any, at: int) -> tuple[float, float]:
    pointer = f"/bounds/{at}"
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise InvalidArgument("a bound is [lower, upper]", pointer=pointer)
    lower = _end(pair[0], -np.inf, f"{pointer}/0")
    upper = _end(pair[1], np.inf, f"{pointer}/1")
    if lower > upper:
        raise InvalidArgument(f"lower bound {lower} > upper bound {upper}", pointer=pointer)
    return lower, upper


WORDS = {"Infinity": np.inf, "-Infinity": -np.inf}


def _end(value: Any, default: float, pointer: str) -> float:
    if value is None:
        return default
    value = WORDS.get(value, value) if isinstance(value, str) else value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or np.isnan(value):
        raise InvalidArgument("a bound is a number, null or an infinity", pointer=pointer)
    return float(value)
