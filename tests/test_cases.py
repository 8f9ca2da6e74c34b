"""Every dense case with a right value from elsewhere, asked over HTTP; the count is reported."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.case_requests import (
    DENSE_KINDS,
    answer,
    asked,
    case_to_body,
    corpus,
    is_dense,
    load_cases,
)

CASES = [case for case in load_cases(*DENSE_KINDS) if is_dense(case)]


def ask(client: httpx.Client, case: dict[str, Any]) -> Any:
    """What the server says: numpy arrays, or an exception where it refused."""
    verb, body = case_to_body(case)
    document = asked(client, verb, body)
    return document if isinstance(document, Exception) else answer(verb, document["result"])


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["level"] == "must"], ids=lambda case: case["id"]
)
def test_must(client: httpx.Client, case: dict[str, Any]) -> None:
    met, why = corpus.compare_case(case, ask(client, case))
    assert met, why


def test_beyond(client: httpx.Client, record_property: Any) -> None:
    """JAX misses these; the ones we miss as well are named in docs/derivatives.md."""
    cases = [case for case in CASES if case["level"] == "beyond"]
    missed = [case["id"] for case in cases if not corpus.compare_case(case, ask(client, case))[0]]
    record_property("beyond", f"{len(cases) - len(missed)} of {len(cases)}")
    print(f"beyond: {len(cases) - len(missed)} of {len(cases)} met; missed {missed}")
    assert set(missed) <= KNOWN_MISSES


KNOWN_MISSES = {
    "g-sqrt-x4",
    "g-sqrt-subnormal",
    "g-eigh-identity",
    "g-betainc-ab",
    "h-norm2-zero",
}
