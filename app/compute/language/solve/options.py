"""Static options of the functions of ``solve``, read and checked as the source wrote them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import is_static


def choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of ``known``."""
    if type(value) is str and value in known:
        return value
    shown = f" {value[:40]!r}" if type(value) is str else ""
    raise InvalidArgument(f"{name}{shown} is unknown", hint=f"one of {', '.join(known)}")


def number(name: str, value: Any, *, least: float = -math.inf) -> float:
    """A finite real number of at least ``least``, known while tracing."""
    _check_static(name, value)
    if not isinstance(value, (int, float)) and getattr(value, "shape", None) != ():
        raise InvalidArgument(f"{name} is one number")
    try:
        read = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{name} is one real number") from None
    if not math.isfinite(read) or read < least:
        bound = f" of at least {least:g}" if least > -math.inf else ""
        raise InvalidArgument(f"{name} is {read:g}; it must be a finite number{bound}")
    return read


def tolerance(value: Any, default: float) -> float:
    """``tol`` as written, at least 0; ``default`` where it is None."""
    return default if value is None else number("tol", value, least=0.0)


def count(name: str, value: Any, *, least: int = 1, most: int = 2**31 - 1) -> int:
    """A whole number from ``least`` to ``most``, known while tracing."""
    read = number(name, value)
    if read != int(read) or not least <= read <= most:
        raise InvalidArgument(f"{name} is {read:g}; it must be a whole number {least} to {most}")
    return int(read)


def flag(name: str, value: Any) -> bool:
    """True or False, known while tracing."""
    if type(value) is not bool:
        _check_static(name, value)
        raise InvalidArgument(f"{name} is True or False")
    return value


def settings(value: Any) -> Mapping[str, Any]:
    """Options of an optimiser, by name: numbers known while tracing, words, truths and lists."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(type(name) is str for name in value):
        raise InvalidArgument("options are a dict", hint='like {"learning_rate": 0.1}')
    return {name: _setting(name, each) for name, each in value.items()}


def _setting(name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_setting(name, each) for each in value]
    return value if isinstance(value, (bool, str, int)) else number(name, value)


def _check_static(name: str, value: Any) -> None:
    if value is None or isinstance(value, str):
        raise InvalidArgument(f"{name} is a number")
    if not is_static(value):
        raise RefusedSource(
            f"{name} must be known when the function is traced",
            hint="write it as a number, or send it as a static value",
        )
