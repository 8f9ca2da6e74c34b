"""A program's text at each stage, with the source lines and the role of every line of it.

``reversals`` is how deep the program nests reverse mode (``lines.reversals``).
Locations of our own code are removed: a client sees its function's lines and no file paths.
"""

from __future__ import annotations

import re
from typing import Any

from app.compute.explain.lines import Origin, origin
from app.core.errors import NotFound

_JAXPR_SCOPE = re.compile(r"^(.*?)\s*# \[(.*)\]\s*$")
_ALIAS = re.compile(r"^#(loc\d*) = loc\((.*)\)$")
_LOC = re.compile(r" loc\((#loc\d*|\"[^\"]*\"(?:\([^)]*\))?|unknown)\)")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_METADATA = re.compile(r",? ?metadata=\{[^}]*\}")
_HLO_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def jaxpr(closed: Any, reversals: int) -> dict[str, Any]:
    """The traced program, nested programs indented below the operation that holds them."""
    text = closed.pretty_print(use_color=False, name_stack=True)
    lines, origins, enclosing = [], [], []
    for line in text.splitlines():
        match = _JAXPR_SCOPE.match(line)
        kept, scope = match.groups() if match else (line, None)
        indent = len(kept) - len(kept.lstrip())
        while enclosing and enclosing[-1][0] >= indent:
            enclosing.pop()
        found = origin(scope, reversals) if scope else None
        above = enclosing[-1][1] if enclosing else None
        if scope is not None:
            enclosing.append((indent, found or above))
        lines.append(kept)
        origins.append((found or above) if scope is not None else None)
    return _mapped(lines, origins)


def stablehlo(text: str, reversals: int) -> dict[str, Any]:
    """StableHLO printed with debug information: locations become the line map."""
    aliases = {name: body for name, body in map(_alias, text.splitlines()) if name}
    lines, origins = [], []
    for line in text.splitlines():
        if line.startswith("#loc"):
            continue
        places = _LOC.findall(line)
        scope = _resolve(places[-1], aliases) if places else ""
        lines.append(_LOC.sub("", line))
        origins.append(origin(scope, reversals))
    return _mapped(lines, origins)


def hlo(text: str, reversals: int) -> dict[str, Any]:
    """Optimised HLO: the ``op_name`` of each instruction becomes the line map."""
    lines, origins, in_table = [], [], False
    for line in text.splitlines():
        in_table = line in _HLO_TABLES or (in_table and bool(line))
        if in_table:
            continue
        name = _OP_NAME.search(line)
        lines.append(_METADATA.sub("", line))
        origins.append(origin(name.group(1), reversals) if name else None)
    return _mapped(lines, origins)


def _alias(line: str) -> tuple[str, str]:
    match = _ALIAS.match(line)
    return (match.group(1), match.group(2)) if match else ("", "")


def _resolve(place: str, aliases: dict[str, str]) -> str:
    """Follow ``#loc12`` to the name it stands for; names are the quoted parts without a path."""
    for _ in range(8):
        reference = re.search(r"#(loc\d*)", place)
        if place.startswith('"') or reference is None:
            break
        place = aliases.get(reference.group(1), "")
    return place.partition('"')[2].partition('"')[0]


def _mapped(lines: list[str], origins: list[Origin | None]) -> dict[str, Any]:
    entries = [
        {"n": number, "source": list(found.lines), "role": found.role}
        for number, found in enumerate(origins, 1)
        if found is not None
    ]
    return {"text": "\n".join(lines) + "\n", "lines": entries}


STAGES = ("jaxpr", "stablehlo", "hlo")


def require_stage(stage: str) -> None:
    """Raise ``NotFound`` for anything but jaxpr, stablehlo and hlo."""
    if stage not in STAGES:
        raise NotFound(f"there is no stage {stage!r}", hint=f"one of {', '.join(STAGES)}")
