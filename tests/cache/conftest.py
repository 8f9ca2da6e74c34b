"""Real stores for the cache's tests: a redis-server on a free loopback port, a SQLite file."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from app.cache.opening import open_store
from app.cache.store import Store, StoreLimits
from tests.serving import RedisProcess

Connect = Callable[..., AbstractAsyncContextManager[Store]]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run coroutine tests of this directory, each in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def _shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    server = RedisProcess(tmp_path_factory.mktemp("redis"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture
def shared_redis(_shared_redis: RedisProcess) -> RedisProcess:
    """A running server, emptied; not to be stopped."""
    with socket.create_connection(("127.0.0.1", _shared_redis.port), 2) as link:
        link.sendall(b"FLUSHALL\r\n")
        assert link.recv(16).startswith(b"+OK")
    return _shared_redis


@pytest.fixture(params=["redis", "sqlite"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What ``open_store`` takes, for each kind of store."""
    if request.param == "redis":
        return request.getfixturevalue("shared_redis").url
    return str(tmp_path / "store.db")


@pytest.fixture
def connect(where: str) -> Connect:
    """Opens stores, closed at the end of the ``async with``, that all see the same data."""

    @asynccontextmanager
    async def opened(limits: StoreLimits | None = None) -> AsyncIterator[Store]:
        store = open_store(where, limits)
        try:
            yield store
        finally:
            await store.close()

    return opened
