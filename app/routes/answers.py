"""Answers of the resource routes: one place for JSON, ETags and conditional requests."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from app.core.codec.documents import Media, dump

_TYPES: dict[Media, str] = {"json": "application/json", "msgpack": "application/msgpack"}


def document(
    body: Any, *, status: int = 200, media: Media = "json", headers: dict[str, str] | None = None
) -> Response:
    """A JSON or msgpack answer."""
    return Response(dump(body, media), status, headers, _TYPES[media])


def resource(
    body: dict[str, Any], resource_id: str, location: str, *, created: bool = False
) -> Response:
    """An immutable resource: its id is its ETag, 201 where it is new."""
    headers = {"etag": f'"{resource_id}"', "location": location}
    return document(body, status=201 if created else 200, headers=headers)


def unchanged(request: Request, resource_id: str) -> Response | None:
    """304 where the client holds this very resource already."""
    held = request.headers.get("if-none-match", "")
    tags = {tag.strip().removeprefix("W/") for tag in held.split(",")}
    if f'"{resource_id}"' in tags or "*" in tags:
        return Response(status_code=304, headers={"etag": f'"{resource_id}"'})
    return None
