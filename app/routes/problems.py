"""One mapping from every error to its answer: application/problem+json, RFC 9457."""

from __future__ import annotations

import inspect
import math
import re

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from app.core import logging
from app.core.codec.documents import dump
from app.core.codec.numbers import pointer
from app.core.errors import (
    BY_SLUG,
    InternalError,
    InvalidArgument,
    MethodNotAllowed,
    NotFound,
    ProblemError,
    TooLarge,
    Unavailable,
)

MEDIA_TYPE = "application/problem+json"
_CODE = re.compile(r"``(.+?)``")
_BY_STATUS: dict[int, type[ProblemError]] = {
    404: NotFound,
    405: MethodNotAllowed,
    413: TooLarge,
    503: Unavailable,
}
_HINTS: dict[type[ProblemError], str] = {
    NotFound: "Every address of the API is listed at /docs and in /openapi.json",
    MethodNotAllowed: "The header Allow names the methods; verbs are called with POST, "
    'as in curl /v1/grad -d \'{"function": "x^2", "args": [3]}\'',
}


def headers_of(problem: ProblemError) -> dict[str, str]:
    """The headers that an error brings with it."""
    headers = {"content-type": MEDIA_TYPE}
    if problem.retry_after is not None:
        headers["retry-after"] = str(max(1, math.ceil(problem.retry_after)))
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    return headers


def body_of(problem: ProblemError) -> bytes:
    """The problem as JSON."""
    return dump(problem.to_problem(), "json")


def problem_of(error: Exception, mark: bytes | None = None) -> ProblemError:
    """The problem that stands for any exception; what was not foreseen is logged and ours.

    ``mark``: the request's id, by which the log is searched.
    """
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, HTTPException):
        kind = _BY_STATUS.get(error.status_code, InvalidArgument)
        return kind(str(error.detail), hint=_HINTS.get(kind))
    logging.get("routes").error("unforeseen", request=(mark or b"").decode(), exc_info=error)
    return InternalError("Something went wrong on our side; the request id finds it in the log")


def response_of(error: Exception, mark: bytes | None = None) -> Response:
    """The response to any exception."""
    problem = problem_of(error, mark)
    headers = headers_of(problem)
    if isinstance(error, HTTPException) and error.headers:
        headers.update(error.headers)
    return Response(body_of(problem), problem.status, headers)


MARK = "gradserve.request"
"""Where a request's scope holds its id."""


def install(app: FastAPI) -> None:
    """Let every error of the application, 404 and 405 included, answer with problem+json."""

    async def answer(request: Request, error: Exception) -> Response:
        return response_of(error, request.scope.get(MARK))

    async def misfit(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = pointer(tuple(first["loc"][1:]))
        return response_of(InvalidArgument(str(first["msg"]), pointer=where))

    app.add_exception_handler(ProblemError, answer)
    app.add_exception_handler(HTTPException, answer)
    app.add_exception_handler(RequestValidationError, misfit)
    app.add_exception_handler(Exception, answer)
    app.add_api_route("/problems/{slug}", _page, methods=["GET"], include_in_schema=False)


async def _page(slug: str) -> HTMLResponse:
    """The documentation behind a problem's ``type``: the docstring of its class."""
    kind = BY_SLUG.get(slug)
    if kind is None:
        raise NotFound(f"No problem is called {slug[:60]!r}")
    text = _CODE.sub(r"<code>\1</code>", inspect.cleandoc(kind.__doc__ or kind.title))
    return HTMLResponse(
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f"<title>{kind.title}</title><h1>{kind.title}</h1><p>Status {kind.status}. {text}</p>"
    )
