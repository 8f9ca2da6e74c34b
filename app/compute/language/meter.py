"""Fuel of one evaluation: steps, array operations, depth and the clock.

A ``Meter`` belongs to one call of a function and is never shared or refilled, so that a source
that loops, recurses or grows while it is traced stops with a ``LimitExceeded``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from app.compute.language.limits import Limits
from app.core.errors import LimitExceeded

CLOCK_EVERY = 64
"""Steps between two looks at the clock."""


class Meter:
    """Counts what one evaluation uses and raises where it passes a limit."""

    __slots__ = ("_depth", "_limits", "_nested", "_order", "_started", "operations", "steps")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = time.monotonic()
        self._depth = 0
        self._nested = 0
        self._order = 0
        self.steps = 0
        self.operations = 0

    def step(self, count: int = 1) -> None:
        """Charge ``count`` steps; raise ``LimitExceeded`` past the step or time limit."""
        before = self.steps
        self.steps = before + count
        if self.steps > self._limits.steps:
            raise LimitExceeded(
                f"more than {self._limits.steps} steps were needed to trace the function",
                hint="use lax.scan, lax.fori_loop or lax.while_loop in place of a Python loop",
            )
        if before // CLOCK_EVERY != self.steps // CLOCK_EVERY:
            self._look_at_clock()

    def operation(self) -> None:
        """Charge one array operation."""
        self.operations += 1
        if self.operations > self._limits.array_operations:
            raise LimitExceeded(
                f"more than {self._limits.array_operations} array operations were traced",
                hint="use lax.scan or lax.fori_loop, or one operation on a larger array",
            )
        self._look_at_clock()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """One call of a function of the language."""
        if self._depth >= self._limits.call_depth:
            raise LimitExceeded(
                f"calls are nested deeper than {self._limits.call_depth}",
                hint="use lax.while_loop or lax.fori_loop in place of recursion",
            )
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def called_back(self) -> Iterator[None]:
        """One call that an array function makes back into the language."""
        if self._nested >= self._limits.transform_depth:
            raise LimitExceeded(
                f"transformed functions call each other deeper than {self._limits.transform_depth}",
                hint="a function that reaches itself through grad, vmap, jit or scan never ends",
            )
        self._nested += 1
        try:
            yield
        finally:
            self._nested -= 1

    @contextmanager
    def differentiating(self, order: int) -> Iterator[None]:
        """One call of a function that takes derivatives of ``order``; 0 is no derivative."""
        if self._order + order > self._limits.derivative_order:
            raise LimitExceeded(
                f"derivatives of an order over {self._limits.derivative_order} are nested here",
                hint="what is traced grows exponentially with the order; use a closed form",
            )
        self._order += order
        try:
            yield
        finally:
            self._order -= order

    def _look_at_clock(self) -> None:
        if time.monotonic() - self._started > self._limits.deadline_s:
            raise LimitExceeded(
                f"tracing the function took longer than {self._limits.deadline_s:g} seconds",
                hint="use lax.scan or lax.fori_loop in place of long Python loops",
            )
