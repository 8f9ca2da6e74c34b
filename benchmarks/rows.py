"""One measured claim, a row of the table, and how two things are measured in turn."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True)
class Row:
    """What was measured against what. ``measured`` is a ratio, or seconds where unit says so."""

    work: str
    against: str
    measured: float
    must: float
    stretch: float
    ours_s: float
    theirs_s: float | None = None
    unit: str = "ratio"
    note: str = ""

    def verdict(self) -> str:
        """Whether the target was met; a missed one is written as missed."""
        if self.measured <= self.stretch:
            return "stretch met"
        return "met" if self.measured <= self.must else "missed"


@dataclass(frozen=True)
class Growth:
    """How the cost of one kind of call grows with its size."""

    work: str
    seconds: Mapping[int, float]
    unit: str = "s"

    def exponents(self) -> list[float]:
        """log(cost ratio) / log(size ratio), between neighbouring sizes: 1 is linear."""
        sizes = sorted(self.seconds)
        return [
            math.log(self.seconds[b] / self.seconds[a]) / math.log(b / a)
            for a, b in pairwise(sizes)
        ]


@dataclass(frozen=True)
class Findings:
    """All that one family of benchmarks found out."""

    rows: Sequence[Row] = ()
    growths: Sequence[Growth] = ()
    notes: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Turns:
    """The median of each round, by name: things measured in turn within each round."""

    medians: Mapping[str, list[float]]

    def median(self, name: str) -> float:
        """The median over rounds."""
        return statistics.median(self.medians[name])

    def ratio(self, ours: str, theirs: str) -> float:
        """The median over rounds of the ratio within a round: slow drift cancels."""
        pairs = zip(self.medians[ours], self.medians[theirs], strict=True)
        return statistics.median(a / b for a, b in pairs)


def in_turn(
    measures: Mapping[str, Callable[[], float]], rounds: int, calls: int | Mapping[str, int]
) -> Turns:
    """Measure each a few times a round, round after round; each ``measure`` returns seconds."""
    medians: dict[str, list[float]] = {name: [] for name in measures}
    for measure in measures.values():
        measure()
    for turn in range(rounds):
        order = list(measures.items())
        for name, measure in order if turn % 2 == 0 else reversed(order):
            count = calls if isinstance(calls, int) else calls[name]
            medians[name].append(statistics.median(measure() for _ in range(count)))
    return Turns(medians)


def within(budget_s: float, measures: Mapping[str, Callable[[], float]], rounds: int = 5) -> Turns:
    """As ``in_turn``, each once a round, for ``rounds`` and on till the budget is spent.

    A single round is for what takes many seconds: it is not warmed up.
    """
    found: dict[str, list[float]] = {name: [] for name in measures}
    for measure in measures.values() if rounds > 1 else ():
        measure()
    end, turn = time.perf_counter() + budget_s, 0
    while turn < rounds or (time.perf_counter() < end and turn < 1000):
        order = list(measures.items())
        for name, measure in order if turn % 2 == 0 else reversed(order):
            found[name].append(measure())
        turn += 1
    return Turns(found)
