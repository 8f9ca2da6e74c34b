"""Reads source lines and roles back from the scopes that tracing leaves in a program.

The language traces each statement in the scope ``L<line>`` and each solver in ``solve.<name>``;
differentiation rewrites a scope to ``jvp(L4)`` and ``transpose(jvp(L4))``, and all of them survive
to optimised HLO.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PRIMAL, TANGENT, COTANGENT = "primal", "tangent", "cotangent"
OWN, PUSHED = "own", "pushed"
"""Scopes by which ``pushed`` tells the function itself from its tangent in forward mode."""

_LINE = re.compile(r"(?:^|[/(\[])L(\d+)(?=$|[/)\]])")
_OPENING = re.compile(r"(\w*)\(|\)")
_MARK = re.compile(rf"(?:^|[/(\[])({OWN}|{PUSHED})(?=$|[/)\]])")
_SOLVER = re.compile(r"(?:^|[/(\[])(solve\.\w+)(?=$|[/)\]])")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operation comes from: source lines, outermost first, and its part in AD."""

    lines: tuple[int, ...]
    role: str


def origin(scope: str, reversals: int) -> Origin | None:
    """Read ``jit(f)/transpose(jvp(L4))/mul``; None where no source line is named.

    ``reversals`` is what the whole program gives, as for ``role``.
    """
    lines = named(scope)
    return Origin(lines, role(scope, reversals)) if lines else None


def named(scope: str) -> tuple[int, ...]:
    """The source lines that a scope names, outermost first."""
    return tuple(dict.fromkeys(int(line) for line in _LINE.findall(scope)))


def solver(scope: str) -> str | None:
    """The function of ``solve`` whose own operation this is; None in the functions it was given."""
    found = [*_SOLVER.finditer(scope)]
    if not found or any(line.start() > found[-1].start() for line in _LINE.finditer(scope)):
        return None
    return found[-1].group(1)


def role(scope: str, reversals: int) -> str:
    """``cotangent`` below a transpose, ``tangent`` below a jvp of forward mode, else ``primal``.

    Reverse mode evaluates the function below a ``jvp`` too, of which only the linear half is
    transposed: of nested ones, as many as the program has ``reversals`` are no push forward. Within
    forward mode the function's own operations carry the scope of its tangent: there the marks of
    ``pushed`` tell, the innermost first.
    """
    if "transpose(" in scope:
        return COTANGENT
    marks = _MARK.findall(scope)
    if marks:
        return PRIMAL if marks[-1] == OWN else TANGENT
    return TANGENT if _nested(scope, "jvp") > reversals else PRIMAL


def reversals(scopes: Iterable[str]) -> int:
    """How deep a program with these scopes nests reverse mode."""
    return max((_nested(scope, "transpose") for scope in scopes), default=0)


def _nested(scope: str, transform: str) -> int:
    """How often a transform is applied to one thing: 2 for ``jvp(jvp(L4))/jvp(mul)``."""
    within: list[str] = []
    deepest = 0
    for opened in _OPENING.finditer(scope):
        if opened.group() == ")":
            del within[-1:]
            continue
        within.append(opened.group(1))
        deepest = max(deepest, within.count(transform))
    return deepest
