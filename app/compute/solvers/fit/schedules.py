"""Learning rates over the updates of a training, by name: optax's schedules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import optax

from app.core.errors import InvalidArgument

MOST = 2**31
SCHEDULES = (
    "constant", "cosine", "exponential", "linear", "one_cycle", "piecewise", "polynomial",
    "warmup_constant", "warmup_cosine",
)  # fmt: skip
SETTINGS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "warmup": ("warmup_constant", "warmup_cosine"),
        "final": ("cosine", "exponential", "linear", "polynomial", "warmup_cosine"),
        "power": ("polynomial",),
        "boundaries": ("piecewise",),
    }
)
"""The schedules that take a setting. ``final``: the last rate as a part of the first;
``boundaries``: [[update, factor], …]."""
SCHEDULE_SETTINGS = ("learning_rate", "schedule", *SETTINGS_OF)


def schedule(given: Mapping[str, Any], steps: int) -> Any:
    """A learning rate over ``steps`` updates: a number, or a function of the update."""
    rate = setting(given, "learning_rate", 1e-3)
    final = setting(given, "final", 0.0, least=0.0)
    warmup = round(setting(given, "warmup", max(1.0, steps / 20)))
    makers: dict[str, Callable[[], Any]] = {
        "constant": lambda: rate,
        "cosine": lambda: optax.cosine_decay_schedule(rate, steps, final),
        "exponential": lambda: optax.exponential_decay(rate, steps, final or 0.01),
        "linear": lambda: optax.linear_schedule(rate, rate * final, steps),
        "one_cycle": lambda: optax.cosine_onecycle_schedule(steps, rate),
        "piecewise": lambda: optax.piecewise_constant_schedule(rate, _boundaries(given)),
        "polynomial": lambda: optax.polynomial_schedule(
            rate, rate * final, setting(given, "power", 2.0), steps
        ),
        "warmup_constant": lambda: optax.warmup_constant_schedule(0.0, rate, warmup),
        "warmup_cosine": lambda: optax.warmup_cosine_decay_schedule(
            0.0, rate, min(warmup, max(1, steps - 1)), max(2, steps), rate * final
        ),
    }
    name = given.get("schedule", "constant")
    if not isinstance(name, str) or name not in makers:
        raise InvalidArgument(
            f"there is no schedule {name!r:.40}",
            pointer="/options/schedule",
            hint=f"one of {', '.join(SCHEDULES)}",
        )
    for key, takers in SETTINGS_OF.items():
        if given.get(key) is not None and name not in takers:
            raise InvalidArgument(
                f"the schedule {name} takes no {key}",
                pointer=f"/options/{key}",
                hint=f"{key} is of {', '.join(takers)}",
            )
    made = makers[name]()
    # Of a whole number of updates optax makes a rate in single precision.
    return (lambda count: made(jnp.asarray(count, float))) if callable(made) else made


def _boundaries(given: Mapping[str, Any]) -> dict[int, float]:
    pairs = given.get("boundaries")
    good = isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 for p in pairs)
    if not good or not pairs:
        raise InvalidArgument(
            "a piecewise schedule needs boundaries",
            pointer="/options/boundaries",
            hint="like [[100, 0.1]]: from update 100 on a tenth of the rate",
        )
    named = [{"update": pair[0], "factor": pair[1]} for pair in pairs]
    return {
        round(setting(each, "update", 0.0, at="boundaries")): setting(
            each, "factor", 1.0, at="boundaries"
        )
        for each in named
    }


def setting(
    given: Mapping[str, Any], name: str, default: float, *, least: float | None = None, at: str = ""
) -> float:
    """A number below ``MOST``: above zero, or at least ``least``."""
    value = given.get(name, default)
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    good = good and math.isfinite(value) and abs(value) < MOST
    if good and (value > 0 if least is None else value >= least):
        return float(value)
    bound = "a positive number" if least is None else f"a number from {least:g},"
    raise InvalidArgument(
        f"{name} is {bound} below {MOST}",
        pointer=f"/options/{at or name}",
        hint=None if isinstance(value, (int, float)) else _form(name),
    )


def _form(name: str) -> str:
    """How the options are written, for those who send an object or a word in place of a number."""
    if name == "learning_rate":
        return (
            'a schedule stands beside its first rate: {"learning_rate": 0.1, "schedule": "cosine"}'
        )
    return f'one number: {{"{name}": 0.1}}'
