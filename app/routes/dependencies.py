"""What the resource routes ask for: the services, and a request's body read within limits."""

from __future__ import annotations

from fastapi import Request

from app.core.codec.documents import Media
from app.routes.reading import BodyLimits, media_of, read_body
from app.services.assembly import Services


def services_of(request: Request) -> Services:
    """The services of the application that a request came to."""
    return request.app.state.services


async def read_raw(request: Request, services: Services) -> bytes:
    """The body as bytes, unpacked, within the limits of size and time."""
    settings = services.settings
    limits = BodyLimits(settings.body_bytes, settings.body_s)
    return await read_body(dict(request.scope["headers"]), request.receive, limits)


async def read(request: Request, services: Services) -> tuple[bytes, Media]:
    """The body, and whether it is JSON or msgpack."""
    media = media_of(dict(request.scope["headers"]))
    return await read_raw(request, services), media
