"""One engine for all engine tests: it keeps nothing between calls."""

from __future__ import annotations

import pytest

from app.compute.engine import Engine
from tests.compute.engine.calls import make_engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    return make_engine()
