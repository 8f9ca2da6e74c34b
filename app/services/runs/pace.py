"""How many steps a chunk gets: as many as take about 100 ms, more where handing over costs more."""

from __future__ import annotations

TARGET_S = 0.1
LONGEST_S = 0.5
OVERHEAD = 0.012
"""The share of its time that a chunk may spend on being handed over and back."""
GROWTH, SHRINKING = 32.0, 0.2
MOST_STEPS = 1 << 30


class Pace:
    """Follows the measured time of chunks; ``steps`` is for the next one."""

    def __init__(self, steps: int = 1) -> None:
        self.steps = steps
        self._overhead_s = 0.0

    def measured(self, execute_s: float, overhead_s: float) -> None:
        """Note that a chunk of ``steps`` took this long, and what it cost beside that."""
        self._overhead_s += 0.3 * (overhead_s - self._overhead_s)
        target = min(LONGEST_S, max(TARGET_S, self._overhead_s / OVERHEAD))
        factor = min(GROWTH, max(SHRINKING, target / max(execute_s, 1e-6)))
        self.steps = min(MOST_STEPS, max(1, round(self.steps * factor)))
