"""Verbs over HTTP: numbers against closed forms, and refusals that say where and what instead."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.serving import ServerProcess


@pytest.fixture(scope="module")
def api(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


def result(api: httpx.Client, verb: str, **body: Any) -> Any:
    """The result of a call that must be answered."""
    answer = api.post(f"/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def test_programs_of_one_text_keep_their_own_arguments_and_tree(api: httpx.Client) -> None:
    function = "lambda x, y: sin(x) * y * 1.25"
    slope = 1.25 * math.sin(1)
    bodies: list[tuple[dict[str, Any], Any]] = [
        ({"args": {"y": 2, "x": 1}, "wrt": [1]}, [slope]),
        ({"args": [1, 2], "wrt": [1]}, [slope]),
        ({"args": [1, 2], "wrt": "y"}, slope),
        ({"args": {"x": 1, "y": 2}, "wrt": 1}, slope),
    ]
    for body, wanted in bodies:
        assert result(api, "grad", function=function, **body) == pytest.approx(wanted)
