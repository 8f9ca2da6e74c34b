"""``/v1/runs``: what became of calls that were not waited for; their events as they come."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from app.core.codec.documents import Media
from app.core.errors import InvalidArgument
from app.core.ids import is_id
from app.routes import answers
from app.routes.clients import client_of
from app.routes.dependencies import services_of
from app.routes.reading import accepted
from app.services.assembly import Services
from app.services.run import RunFilter, RunService
from app.services.runs.run import Client, Run, Status

router = APIRouter(prefix="/v1/runs", tags=["runs"])

EVENT_STREAM = "text/event-stream"
_HEARTBEAT = b": heartbeat\n\n"
_HEAD = b"retry: 1000\n\n"

_RUN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["run", "verb", "status", "created"],
    "properties": {
        "run": {"type": "string"},
        "verb": {"type": "string"},
        "status": {"enum": ["queued", "running", "done", "failed", "cancelled"]},
        "created": {"type": "string", "format": "date-time"},
        "started": {"type": ["string", "null"], "format": "date-time"},
        "ended": {"type": ["string", "null"], "format": "date-time"},
        "progress": {"type": ["object", "null"]},
        "problem": {"type": "object", "description": "Why it failed (RFC 9457)"},
        "result": {"description": "As the call would have answered; where it is done"},
    },
}


def _says(schema: dict[str, Any], kind: str = "application/json") -> dict[int | str, Any]:
    return {200: {"description": "Successful Response", "content": {kind: {"schema": schema}}}}


_RUN = _says(_RUN_SCHEMA)
_PAGE = _says(
    {
        "type": "object",
        "required": ["data", "next"],
        "properties": {
            "data": {"type": "array", "items": _RUN_SCHEMA},
            "next": {"type": ["string", "null"]},
        },
    }
)
_EVENTS = _says({"type": "string"}, EVENT_STREAM)
_EVENTS[204] = {"description": "The run has ended and every event was received"}


def asking(request: Request, services: Annotated[Services, Depends(services_of)]) -> Client:
    """The client whose runs are meant."""
    headers = dict(request.scope["headers"])
    return client_of(request.scope, headers, keyed=bool(services.settings.api_keys))


ServicesOf = Annotated[Services, Depends(services_of)]
Asking = Annotated[Client, Depends(asking)]


@router.get("", responses=_PAGE)
async def list_runs(
    services: ServicesOf,
    client: Asking,
    status: Annotated[Sequence[Status], Query()] = (),
    verb: Annotated[Sequence[str], Query()] = (),
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Runs, the latest first, by status or verb, each of which may be given more than once.

    Results are with each run by itself.
    """
    after = None if cursor is None else _id_of(cursor)
    runs, last = await services.runs.list(RunFilter(status, verb), client, after, limit)
    following = None if last is None else _cursor_of(last)
    return answers.document({"data": [run.document() for run in runs], "next": following})


@router.get("/{run_id}", responses=_RUN)
async def get_run(run_id: str, request: Request, services: ServicesOf, client: Asking) -> Response:
    """Status, times and progress; the result or the problem where it has ended."""
    run = await services.runs.get(run_id, client)
    return await _document(run, request, services.runs)


@router.delete("/{run_id}", responses=_RUN)
async def cancel_run(
    run_id: str, request: Request, services: ServicesOf, client: Asking
) -> Response:
    """Cancel a run wherever it is: queued, compiling, running. One that has ended stays."""
    run = await services.runs.cancel(run_id, client)
    return await _document(run, request, services.runs)


@router.get("/{run_id}/events", responses=_EVENTS)
async def get_events(
    run_id: str, request: Request, services: ServicesOf, client: Asking
) -> Response:
    """Events (status, progress, result, problem) as they come, until the run has ended.

    Server-sent events with ids: ``Last-Event-ID`` goes on after the one named.
    """
    run = await services.runs.get(run_id, client)
    given = request.headers.get("last-event-id", "")
    last = int(given) if given.isdigit() and len(given) < 16 else 0
    if last:
        last, ended = await services.runs.heard(run, last)
        if ended:
            return Response(status_code=204)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(
        _stream(services.runs, run, last, services.settings.heartbeat_s),
        headers=headers,
        media_type=EVENT_STREAM,
    )


async def _stream(runs: RunService, run: Run, last: int, quiet_s: float) -> AsyncIterator[bytes]:
    yield _HEAD
    async for events in runs.listen(run, last, quiet_s):
        yield (
            b"".join(
                b"id: %d\nevent: %s\ndata: %s\n\n" % (told.id, told.kind.encode(), told.data)
                for told in events
            )
            or _HEARTBEAT
        )


async def _document(run: Run, request: Request, runs: RunService) -> Response:
    media: Media = accepted(dict(request.scope["headers"]), "json")
    body = await runs.document(run, media)
    headers = {} if run.is_final else {"retry-after": "1"}
    return Response(body, headers=headers, media_type=f"application/{media}")


def _cursor_of(run_id: str) -> str:
    return base64.urlsafe_b64encode(run_id.encode()).decode().rstrip("=")


def _id_of(cursor: str) -> str:
    try:
        run_id = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        run_id = ""
    if not is_id("run", run_id):
        raise InvalidArgument(
            "The cursor is not one of ours", hint="Send the value of next as it came"
        )
    return run_id
