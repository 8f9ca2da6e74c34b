"""Optax's optimisers and learning-rate schedules by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import optax

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
    }
)
SETTINGS = ("momentum", "nesterov", "b1", "b2", "eps", "weight_decay", "decay")
DECAYING = frozenset({"adamw", "lion", "lamb"})
"""Optimisers that take weight decay themselves; it is added to the gradient of the others."""
SCHEDULES = ("constant", "cosine", "exponential", "linear", "warmup_cosine")


def optimiser(name: str, given: Mapping[str, Any], steps: int) -> optax.GradientTransformation:
    """An optimiser with its settings: learning_rate, schedule, clip, and SETTINGS.

    ``steps`` is how many updates the schedule spans.
    """
    unknown = set(given) - {*SETTINGS, "learning_rate", "schedule", "clip", "warmup"}
    if unknown:
        raise InvalidArgument(
            f"an optimiser takes no {sorted(unknown)[0]!r:.40}",
            pointer="/options",
            hint=f"learning_rate, schedule, clip, warmup, {', '.join(SETTINGS)}",
        )
    settings = {key: given[key] for key in SETTINGS if key in given}
    decay = 0.0 if name in DECAYING else settings.pop("weight_decay", 0.0)
    try:
        chosen = OPTIMISERS[name](schedule(given, steps), **settings)
    except TypeError:
        raise InvalidArgument(
            f"{name} does not take one of {', '.join(settings)}", pointer="/options"
        ) from None
    parts = [chosen]
    if decay:
        parts.insert(0, optax.add_decayed_weights(decay))
    if given.get("clip"):
        parts.insert(0, optax.clip_by_global_norm(float(given["clip"])))
    return optax.chain(*parts) if len(parts) > 1 else chosen


def schedule(given: Mapping[str, Any], steps: int) -> Any:
    """A learning rate over ``steps`` updates."""
    rate = given.get("learning_rate", 1e-3)
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not rate > 0:
        raise InvalidArgument(
            "learning_rate is a positive number", pointer="/options/learning_rate"
        )
    name = given.get("schedule", "constant")
    warmup = int(given.get("warmup", max(1, steps // 20)))
    makers: dict[str, Callable[[], Any]] = {
        "constant": lambda: float(rate),
        "cosine": lambda: optax.cosine_decay_schedule(rate, steps),
        "exponential": lambda: optax.exponential_decay(rate, steps, 0.01),
        "linear": lambda: optax.linear_schedule(rate, 0.0, steps),
        "warmup_cosine": lambda: optax.warmup_cosine_decay_schedule(0.0, rate, warmup, steps),
    }
    if name not in makers:
        raise InvalidArgument(
            f"there is no schedule {name!r:.40}",
            pointer="/options/schedule",
            hint=f"one of {', '.join(SCHEDULES)}",
        )
    return makers[name]()
