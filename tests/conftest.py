"""Fixtures that every test may ask for, and the rule that nothing skips where that is forbidden.

With ``GRADSERVE_TEST_NO_SKIP=1`` (continuous integration) a skipped test is a failed one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serving import RedisProcess, ServerProcess

StartServer = Callable[..., ServerProcess]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A ready server that the whole session shares; tests must leave it as they found it."""
    process = ServerProcess(tmp_path_factory.mktemp("server"))
    try:
        yield process.start()
    finally:
        process.stop()


@pytest.fixture(scope="session")
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    """A client of the session's server."""
    with httpx.Client(base_url=server.url, timeout=120) as client:
        yield client


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """A call that starts a server of the test's own: ``start_server(environment, arguments)``.

    ``data`` names its data directory, so that a second call can be the restart of the first;
    ``wait=False`` returns before it is ready.
    """
    started: list[ServerProcess] = []

    def start(
        environment: dict[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        *,
        data: Path | None = None,
        wait: bool = True,
    ) -> ServerProcess:
        directory = tmp_path / f"server{len(started)}"
        directory.mkdir()
        named = {"GRADSERVE_DATA_DIR": str(data)} if data else {}
        process = ServerProcess(directory, named | (environment or {}), arguments)
        started.append(process)
        return process.start(wait=wait)

    yield start
    for process in started:
        process.stop()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisProcess]:
    """A running redis-server of the test's own."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    directory = tmp_path / "redis"
    directory.mkdir()
    process = RedisProcess(directory)
    try:
        yield process.start()
    finally:
        process.stop()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium or Chrome."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    pytest.skip("Chromium is not installed (apt-get install chromium)")


def _skipping_is_failing() -> bool:
    return os.environ.get("GRADSERVE_TEST_NO_SKIP", "") not in {"", "0"}


def _fail(report: Any, what: str) -> None:
    """Turn a skipped report into a failed one that says why it skipped."""
    if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{what} skipped, and GRADSERVE_TEST_NO_SKIP forbids that: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Where skipping is forbidden, a skipped test fails."""
    report = yield
    if _skipping_is_failing():
        _fail(report, "a test")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Where skipping is forbidden, a module that skips itself fails."""
    report = yield
    if _skipping_is_failing():
        _fail(report, "a module")
    return report
