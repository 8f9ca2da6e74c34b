"""Reads source lines and roles back from the scopes that tracing leaves in a program.

The language traces each statement in the scope ``L<line>`` and each solver in ``solve.<name>``;
differentiation rewrites a scope to ``jvp(L4)`` and ``transpose(jvp(L4))``, and all of them survive
to optimised HLO.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PRIMAL, TANGENT, COTANGENT = "primal", "tangent", "cotangent"

_LINE = re.compile(r"(?:^|[/(\[])L(\d+)(?=$|[/)\]])")
_SOLVER = re.compile(r"(?:^|[/(\[])(solve\.\w+)(?=$|[/)\]])")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operation comes from: source lines, outermost first, and its part in AD."""

    lines: tuple[int, ...]
    role: str


def origin(scope: str) -> Origin | None:
    """Read ``jit(f)/transpose(jvp(L4))/mul``; None where no source line is named."""
    lines = tuple(dict.fromkeys(int(line) for line in _LINE.findall(scope)))
    return Origin(lines, role(scope)) if lines else None


def solver(scope: str) -> str | None:
    """The function of ``solve`` whose own operation this is; None in the functions it was given."""
    found = [*_SOLVER.finditer(scope)]
    if not found or any(line.start() > found[-1].start() for line in _LINE.finditer(scope)):
        return None
    return found[-1].group(1)


def role(scope: str) -> str:
    """``cotangent`` below a transpose, ``tangent`` below a jvp, else ``primal``."""
    if "transpose(" in scope:
        return COTANGENT
    return TANGENT if "jvp(" in scope else PRIMAL
