"""How fast a solver is and how long it may still take, from what it tells of its progress."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any


class Forecast:
    """Measures from the first thing told on: a run that went on elsewhere begins anew.

    Of a batch it follows the furthest iteration, and the one that has the longest way to go.
    """

    def __init__(self) -> None:
        self._begun: float | None = None
        self._iteration = 0.0
        self._fraction = 0.0

    def of(self, told: Mapping[str, Any]) -> dict[str, float]:
        """``rate`` in iterations a second; ``left_s``, where the fraction done is known."""
        now = time.monotonic()
        if "iteration" not in told:
            return {}
        iteration = max(_numbers(told["iteration"]), default=0.0)
        fraction = min(_numbers(told.get("fraction", 0.0)), default=0.0)
        if self._begun is None:
            self._begun, self._iteration, self._fraction = now, iteration, fraction
            return {}
        passed = max(1e-9, now - self._begun)
        said = {"rate": round((iteration - self._iteration) / passed, 3)}
        gained = fraction - self._fraction
        if 0 < gained <= fraction <= 1:
            said["left_s"] = round(passed * (1 - fraction) / gained, 3)
        return said


def _numbers(value: Any) -> list[float]:
    """Those of a number, or of lists of them however deep; words for no number are left out."""
    if isinstance(value, list):
        return [number for each in value for number in _numbers(each)]
    return [float(value)] if isinstance(value, (int, float)) else []
