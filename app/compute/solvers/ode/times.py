"""When an integration starts, ends and is looked at: values of the call, not of its program.

Steppers go forward always. ``direction`` is -1 where t1 lies before t0, and times are multiplied
by it on the way in and out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp

from app.compute.programs.leaves import is_sparse
from app.core.errors import InvalidArgument


class Times(NamedTuple):
    """Forward times: ``start``, ``end``, ``save`` (k,) in order; ``place`` undoes the sorting."""

    direction: Any
    start: Any
    end: Any
    save: Any
    place: Any
    good: Any

    @classmethod
    def of(cls, given: Mapping[str, Any], dtype: Any) -> Times:
        """From ``t0`` (0 where it is not given), ``t1`` and ``ts``.

        ``good`` is false where one of them is not finite, or a save point lies outside.
        """
        if "t1" not in given:
            raise InvalidArgument("ode needs the end t1", pointer="/t1", hint='like "t1": 10.0')
        start = _scalar(given.get("t0", jnp.zeros((), dtype)), "t0", dtype)
        end = _scalar(given["t1"], "t1", dtype)
        direction = jnp.where(end < start, -1.0, 1.0).astype(dtype)
        ts = _save_points(given.get("ts"), dtype)
        forward = direction * ts
        order = jnp.argsort(forward)
        start, end, save = direction * start, direction * end, forward[order]
        good = jnp.isfinite(start) & jnp.isfinite(end)
        good = good & jnp.all((save >= start) & (save <= end))
        return cls(direction, start, end, save, jnp.argsort(order), good)

    def asked(self) -> Any:
        """The save points as the client sent them."""
        return self.direction * self.save[self.place]


def _scalar(value: Any, name: str, dtype: Any) -> Any:
    if not hasattr(value, "shape") or value.shape or not _is_real(value):
        raise InvalidArgument(f"{name} is a number", pointer=f"/{name}")
    return value.astype(dtype)


def _save_points(value: Any, dtype: Any) -> Any:
    if value is None:
        return jnp.zeros(0, dtype)
    if is_sparse(value) or not hasattr(value, "shape") or value.ndim != 1 or not _is_real(value):
        raise InvalidArgument("ts is a list of times", pointer="/ts")
    return value.astype(dtype)


def _is_real(value: Any) -> bool:
    return jnp.issubdtype(value.dtype, jnp.floating) or jnp.issubdtype(value.dtype, jnp.integer)
