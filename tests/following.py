"""Runs as a client of the API follows them: begun, waited for, listened to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

FINAL = {"done", "failed", "cancelled"}

LOOP = """
def loop(x, n):
    return lax.fori_loop(0, n, lambda i, a: a + 1e-9 * sin(a), x)
"""
"""Some 0.1 s for each million of ``n``."""

DEEP = """
def deep(x):
    for i in range(300):
        x = sin(x) * cos(x + {shift}) + x
    return x
"""
"""Its Hessian takes many seconds to trace and compile."""


def count(n: int) -> dict[str, Any]:
    return {"dtype": "int32", "shape": [], "data": n}


def loop(n: int, x: float = 1.0) -> dict[str, Any]:
    return {"function": LOOP, "args": [x, count(n)]}


@dataclass(frozen=True)
class Event:
    id: int
    kind: str
    data: dict[str, Any]


class Follower:
    """A client of one server."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.http = httpx.Client(base_url=url, timeout=60, headers=headers)

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def call(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post(f"/v1/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def begin(self, verb: str, body: dict[str, Any], **headers: str) -> str:
        answer = self.http.post(
            f"/v1/{verb}", json=body, headers={"prefer": "respond-async", **headers}
        )
        assert answer.status_code == 202, answer.text
        run_id: str = answer.json()["run"]
        assert answer.headers["location"] == f"/v1/runs/{run_id}"
        return run_id

    def get(self, run_id: str) -> dict[str, Any]:
        answer = self.http.get(f"/v1/runs/{run_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait(self, run_id: str, status: str | None = None, longest_s: float = 40) -> dict[str, Any]:
        """The run once it has this status, or any that is final."""
        end = time.monotonic() + longest_s
        while True:
            run = self.get(run_id)
            if run["status"] == status or (status is None and run["status"] in FINAL):
                return run
            assert time.monotonic() < end, run
            assert run["status"] not in FINAL, run
            time.sleep(0.02)

    def phase(self, run_id: str, phase: str, longest_s: float = 40) -> None:
        """Wait until a run says that it is in a phase."""
        for event in self.events(run_id, longest_s=longest_s):
            if event.data.get("phase") == phase:
                return
        raise AssertionError(f"{run_id} was never {phase}")

    def cancel(self, run_id: str) -> tuple[dict[str, Any], float]:
        """The run after it was cancelled, and the seconds that took."""
        sent = time.perf_counter()
        answer = self.http.delete(f"/v1/runs/{run_id}")
        assert answer.status_code == 200, answer.text
        return answer.json(), time.perf_counter() - sent

    def events(self, run_id: str, last: int = 0, longest_s: float = 40) -> Iterator[Event]:
        headers = {"last-event-id": str(last)} if last else {}
        with self.http.stream(
            "GET", f"/v1/runs/{run_id}/events", headers=headers, timeout=longest_s
        ) as answer:
            if answer.status_code == 204:
                return
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "id" in fields:
                    yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
                    fields = {}
