"""Words of refusals: near matches of unknown names, and JAX's own messages made fit to send.

No message may carry a file path, the repr of a host object or text without bound.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

LONGEST = 600
NOISE = (
    re.compile(r"\bSee https?://\S+"),
    re.compile(r"\bThe error occurred while tracing the function [^\n]{0,300}"),
    re.compile(r"\bThis typically means that a jit-wrapped function [^\n]{0,400}"),
    re.compile(r"\bIf using `jit`, [^\n]{0,200}"),
    re.compile(r"\b\w{1,40} is <unknown>"),
    re.compile(r" at \S{1,200}\.py:\d+"),
    re.compile(r"-{20,}"),
)
PHRASES = (
    (re.compile(r"\bJitTracer\(([^()]{0,100})\)"), r"a traced value \1"),
    (re.compile(r"\bGradTracer\([^()]{0,100}\)"), "a traced value"),
    (re.compile(r"\bTraced<[^<>]{0,100}>with<[^<>]{0,100}>"), "a traced value"),
    (re.compile(r"<class '(?:[\w.]{0,80}\.)?(\w{1,40})'>"), r"\1"),
    (re.compile(r"<function (?:[\w.<>]{0,80}\.)?(\w{1,60}) at 0x[0-9a-f]+>"), r"\1"),
    (re.compile(r"<[^<>\n]{0,200} at 0x[0-9a-f]+>"), "a function"),
    (re.compile(r"(?:/[\w.@+-]{1,80}){2,20}"), "…"),
    (re.compile(r"\bapp\.[\w.]{1,120}"), "a value"),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "…"),
    (re.compile(r"\s*\n\s*"), " "),
)


def cleaned(message: str) -> str:
    """A host exception's message as one bounded line without paths or reprs of host objects."""
    text = message[: 4 * LONGEST]
    for pattern in NOISE:
        text = pattern.sub("", text)
    for pattern, words in PHRASES:
        text = pattern.sub(words, text)
    text = text.strip()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def near(name: str, known: Iterable[str]) -> str | None:
    """A hint that offers the known names closest to ``name``, or None where none is close."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower()[:60], by_lower, n=3, cutoff=0.7)
    if not found:
        return None
    return "did you mean " + " or ".join(by_lower[match] for match in found) + "?"


def shown(text: str, longest: int = 60) -> str:
    """``text`` on one line, cut to ``longest`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
