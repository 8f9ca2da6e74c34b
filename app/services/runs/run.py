"""One execution of a verb as a resource: what it is, how far it is, what became of it.

A ``Run`` is immutable; each change of state makes another. Times are seconds since 1970, of the
wall clock, because replicas share them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from app.core.ids import DIGITS, is_id

Status = Literal["queued", "running", "done", "failed", "cancelled"]
STATUSES: tuple[Status, ...] = get_args(Status)
FINAL = frozenset({"done", "failed", "cancelled"})

_TIME_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks: ``name`` is what queueing is fair between, ``tenant`` what others must not see."""

    name: str
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """``attempts`` counts how often work on it began."""

    id: str
    verb: str
    client: str
    tenant: str | None
    created: float
    status: Status = "queued"
    started: float | None = None
    ended: float | None = None
    progress: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    attempts: int = 0

    @classmethod
    def new(cls, verb: str, client: Client) -> Run:
        """A queued run under a new id."""
        now = time.time()
        return cls(new_id(now), verb, client.name, client.tenant, now)

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in FINAL

    def begun(self) -> Run:
        """The run as somebody starts to work on it, for the first time or again."""
        started = self.started or time.time()
        return replace(self, status="running", started=started, attempts=self.attempts + 1)

    def given_back(self) -> Run:
        """The run waiting again, its attempt not held against it."""
        return replace(self, status="queued", attempts=self.attempts - 1)

    def finished(self, status: Status, problem: dict[str, Any] | None = None) -> Run:
        """The run at its end."""
        return replace(self, status=status, ended=time.time(), problem=problem)

    def document(self) -> dict[str, Any]:
        """What clients see beside the result."""
        said: dict[str, Any] = {
            "run": self.id,
            "verb": self.verb,
            "status": self.status,
            "created": _iso(self.created),
            "started": _iso(self.started),
            "ended": _iso(self.ended),
            "progress": self.progress,
        }
        if self.problem is not None:
            said["problem"] = self.problem
        return said

    def to_wire(self) -> dict[str, Any]:
        """What the store keeps; ``from_wire`` reads it back."""
        return asdict(self)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Run:
        """The run that ``to_wire`` wrote."""
        return cls(**wire)


def new_id(now: float) -> str:
    """``run_``, 12 hex digits of milliseconds and 20 random ones: ids sort by time of creation."""
    return (
        f"run_{int(now * 1000):0{_TIME_DIGITS}x}{secrets.token_hex((DIGITS - _TIME_DIGITS) // 2)}"
    )


def made_at(run_id: str) -> float:
    """The time that an id was made at."""
    return int(run_id[4 : 4 + _TIME_DIGITS], 16) / 1000 if is_id("run", run_id) else 0.0


def _iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
