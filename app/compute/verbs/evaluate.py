"""``evaluate``: the function's own value. ``abstract_eval`` is its shapes, never compiled."""

from __future__ import annotations

from typing import Any

from app.compute.calls.call import Call
from app.compute.verbs.verb import Verb


def evaluate(call: Call) -> Any:
    """f(args)."""
    return call.staged(*call.args)


VERBS = (Verb("evaluate", evaluate), Verb("abstract_eval", evaluate))
