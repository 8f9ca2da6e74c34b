"""Optax's optimisers by name, with the settings that each takes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import optax

from app.compute.solvers.fit.schedules import SCHEDULE_SETTINGS, schedule, setting
from app.core.errors import InvalidArgument

OPTIMISERS: Mapping[str, Callable[..., optax.GradientTransformation]] = MappingProxyType(
    {
        "sgd": optax.sgd,
        "adam": optax.adam,
        "adamw": optax.adamw,
        "lion": optax.lion,
        "rmsprop": optax.rmsprop,
        "adagrad": optax.adagrad,
        "adamax": optax.adamax,
        "nadam": optax.nadam,
        "radam": optax.radam,
        "lamb": optax.lamb,
        "yogi": optax.yogi,
        "adabelief": optax.adabelief,
        "adadelta": optax.adadelta,
        "adafactor": optax.adafactor,
        "adamaxw": optax.adamaxw,
        "adan": optax.adan,
        "amsgrad": optax.amsgrad,
        "fromage": optax.fromage,
        "lars": optax.lars,
        "nadamw": optax.nadamw,
        "novograd": optax.novograd,
        "optimistic_adam": optax.optimistic_adam,
        "optimistic_gradient_descent": optax.optimistic_gradient_descent,
        "rprop": optax.rprop,
        "sign_sgd": optax.sign_sgd,
        "sm3": optax.sm3,
    }
)
CONSTANT = frozenset({"optimistic_adam", "rprop", "sm3"})
"""Optimisers whose learning rate is one number, without a schedule."""
OURS = (*SCHEDULE_SETTINGS, "clip", "weight_decay")


def optimiser(name: str, given: Mapping[str, Any], steps: int) -> optax.GradientTransformation:
    """An optimiser with its settings: those of its schedule, ``clip``, and what optax's takes.

    ``steps`` is how many updates the schedule spans. ``weight_decay`` is the optimiser's own
    where it has one, and added to the gradient else.
    """
    make = OPTIMISERS[name]
    own = settings(make)
    for key in given:
        if key not in own and key not in OURS:
            raise InvalidArgument(
                f"{name} takes no {key!r:.40}",
                pointer=f"/options/{key}",
                hint=f"it takes {', '.join(sorted({*OURS, *own}))}",
            )
    rate = schedule(given, steps)
    if name in CONSTANT and callable(rate):
        raise InvalidArgument(f"{name} takes no schedule", pointer="/options/schedule")
    chosen = make(rate, **{key: _checked(given[key], key, own[key]) for key in own if key in given})
    parts = [chosen]
    if "weight_decay" not in own and "weight_decay" in given:
        decay = setting(given, "weight_decay", 0.0, least=0.0)
        parts.insert(0, optax.add_decayed_weights(decay))
    if given.get("clip") is not None:
        parts.insert(0, optax.clip_by_global_norm(setting(given, "clip", 1.0)))
    return optax.chain(*parts) if len(parts) > 1 else chosen


def settings(make: Callable[..., Any]) -> dict[str, type]:
    """The numbers and truths that an optimiser of optax takes, beside its learning rate."""
    kinds = {}
    for each in inspect.signature(make).parameters.values():
        if isinstance(each.default, (bool, int, float)):
            kinds[each.name] = type(each.default)
        elif each.name in ("momentum", "optimism"):
            kinds[each.name] = float
    return kinds


def _checked(value: Any, name: str, kind: type) -> Any:
    """A value of the kind that the default has; whole numbers pass for real ones."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    good = isinstance(value, bool) if kind is bool else number and math.isfinite(value)
    if kind is int:
        good = good and isinstance(value, int)
    if not good:
        words = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise InvalidArgument(f"{name} is {words}", pointer=f"/options/{name}")
    return value
