"""How large a value of the language may be: integers, texts, containers, and how deep they nest.

Each check raises ``LimitExceeded``, and charges what walking the value costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.core.errors import LimitExceeded

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


def checked_int(run: Evaluator, value: int) -> int:
    """``value``, if it has no more bits than an integer may have."""
    if value.bit_length() > run.limits.integer_bits:
        raise LimitExceeded(
            f"an integer needs more than {run.limits.integer_bits} bits",
            hint="write it as a float, such as 1e30",
        )
    return value


def checked_text(run: Evaluator, value: str) -> str:
    """``value``, if it is not longer than text may be."""
    if len(value) > run.limits.text:
        raise LimitExceeded(
            f"a text is longer than {run.limits.text} characters",
            hint="compute with arrays; text only names choices",
        )
    return value


def checked_length(run: Evaluator, count: int) -> None:
    """Charge for ``count`` items of a container and refuse more than one may hold."""
    if count > run.limits.sequence:
        raise LimitExceeded(
            f"a container has more than {run.limits.sequence} items",
            hint="use an array: jnp.arange, jnp.zeros or jnp.full make long ones",
        )
    run.meter.step(1 + count // 4)


def checked_range(run: Evaluator, numbers: range) -> None:
    """Refuse a range whose numbers would be too many to walk; charge for the others."""
    # Not len(), which fails beyond 64 bits.
    count = max(0, -((numbers.start - numbers.stop) // numbers.step))
    if count > run.limits.sequence:
        raise LimitExceeded(
            f"a Python loop over more than {run.limits.sequence} numbers",
            hint="use lax.fori_loop or lax.scan, or jnp.arange for an array",
        )
    run.meter.step(count // 4)


def checked_depth(run: Evaluator, depth: int) -> None:
    """Refuse structures that are too deep to be walked, cyclic ones among them."""
    if depth > run.limits.structure_depth:
        raise LimitExceeded(
            f"lists or tuples are nested deeper than {run.limits.structure_depth}",
            hint="a list must not hold itself",
        )
