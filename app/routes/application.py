"""The ASGI application: keys, request ids and draining around the hot path and FastAPI."""

from __future__ import annotations

import asyncio
import hmac
import signal
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import chain
from types import FrameType
from typing import Any

from fastapi import FastAPI

import app as package
from app.core import logging
from app.core.errors import HeadersTooLarge, ProblemError, Unauthorized, Unavailable
from app.core.ids import request_id
from app.core.settings import Settings
from app.routes import access, arrays, functions, operations, pages, problems, programs, runs, verbs
from app.routes.compute import ComputeEndpoint
from app.routes.reading import Message, Receive, Scope, Send
from app.services.assembly import Services, assemble

_HEADER_BYTES = 32 << 10
_OPEN = frozenset({"/", "/docs", "/openapi.json", "/health/live", "/health/ready"})
_OPEN_PREFIXES = ("/problems/", "/assets/")


class Application:
    """One ASGI callable: HEAD as GET, bearer keys, ``X-Request-Id``, draining, dispatch."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._keys = [key.get_secret_value().encode() for key in services.settings.api_keys]
        self._compute = ComputeEndpoint(services)
        self._web = _web_application(services, self._compute)
        self._state = self._web.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life span of the process."""
        if scope["type"] != "http":
            await self._web(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-request-id")
        mark = request_id(None if given is None else given.decode("latin-1")).encode()
        problem = self._refusal(scope, headers)
        if problem is None and self._compute.handles(scope):
            await self._compute.answer(scope, headers, receive, send, mark)
            return
        send = _marked(scope, send, mark)
        scope[problems.MARK] = mark
        if scope["method"] == "HEAD":
            # A copy: the server reads its own scope to know that no body follows.
            scope = {**scope, "method": "GET"}
        if problem is not None:
            await problems.response_of(problem)(scope, receive, send)
        else:
            # Starlette answers what nobody foresaw, we log it, and it raises it once more.
            with suppress(Exception):
                await self._web(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Mapping[bytes, bytes]) -> ProblemError | None:
        """What speaks against a request before its body is read: its size, its key, the hour."""
        path: str = scope["path"]
        if sum(map(len, chain.from_iterable(scope["headers"]))) > _HEADER_BYTES:
            return HeadersTooLarge(f"The headers have more than {_HEADER_BYTES} bytes")
        if self._keys and path not in _OPEN and not path.startswith(_OPEN_PREFIXES):
            given = headers.get(b"authorization", b"")
            key = given[7:] if given[:7].lower() == b"bearer " else b""
            # Every key is compared, so that the time taken tells nothing of which is near.
            matching = [hmac.compare_digest(key, each) for each in self._keys]
            if True not in matching:
                return Unauthorized("This server wants a key", hint="Authorization: Bearer KEY")
        if self._state.draining and path.startswith("/v1/"):
            return Unavailable("The server is shutting down", retry_after=5)
        return None


def _marked(scope: Scope, send: Send, mark: bytes) -> Send:
    """Answers that carry the request's id, told to the log; those to HEAD without their body."""
    bodiless, begun = scope["method"] == "HEAD", time.perf_counter()

    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", mark)]
            access.log(scope, mark, message["status"], time.perf_counter() - begun)
        elif bodiless and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return marked


def _web_application(services: Services, compute: ComputeEndpoint) -> FastAPI:
    @asynccontextmanager
    async def lifespan(web: FastAPI) -> AsyncIterator[None]:
        await services.start()
        _drain_on_signal(web, services)
        yield
        await services.stop()

    web = FastAPI(
        title="gradserve",
        version=package.__version__,
        description=package.__doc__ or "",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    web.state.services = services
    web.state.draining = False
    problems.install(web)
    for routes in (functions, arrays, programs, runs, operations):
        web.include_router(routes.router)
    verbs.mount(web, compute)
    _describe(web)
    pages.install(web)
    return web


def _drain_on_signal(web: FastAPI, services: Services) -> None:
    """Refuse new calls from the first signal on; the server's own handler then closes it."""
    loop = asyncio.get_running_loop()
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        closing = signal.getsignal(number)

        def drain(received: int, frame: FrameType | None, closing: Any = closing) -> None:
            web.state.draining = True
            loop.call_soon_threadsafe(services.runs.drain)
            if callable(closing):
                closing(received, frame)

        signal.signal(number, drain)


def _describe(web: FastAPI) -> None:
    """Complete the OpenAPI document with the routes that FastAPI does not see."""
    generate = web.openapi

    def complete() -> dict[str, Any]:
        document = generate()
        for path, item in verbs.operations().items():
            document["paths"].setdefault(path, {}).update(item)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(verbs.schemas())
        return document

    web.openapi = complete


def create_app(settings: Settings | None = None) -> Application:
    """The application of some settings; of the environment's where none are given."""
    settings = settings or Settings()
    logging.configure(settings.log_level)
    return Application(assemble(settings))
