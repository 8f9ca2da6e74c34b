"""What operators ask: health, metrics, devices; and the names of the language for editors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.routes import answers
from app.routes.dependencies import services_of
from app.services.assembly import Services

router = APIRouter(tags=["operations"])


@router.get("/health/live")
async def live() -> Response:
    """200 while the process answers at all."""
    return answers.document({"status": "live"})


@router.get("/health/ready")
async def ready(request: Request, services: Annotated[Services, Depends(services_of)]) -> Response:
    """200 while calls are taken, 503 while starting or draining; the state of every part."""
    is_ready, body = services.readiness()
    if request.app.state.draining:
        is_ready, body = False, {**body, "status": "draining"}
    headers = None if is_ready else {"retry-after": "5"}
    return answers.document(body, status=200 if is_ready else 503, headers=headers)


@router.get("/metrics")
async def metrics(services: Annotated[Services, Depends(services_of)]) -> Response:
    """Prometheus text."""
    return Response(services.metrics.text(), media_type=services.metrics.content_type)


@router.get("/v1/devices")
async def devices(services: Annotated[Services, Depends(services_of)]) -> Response:
    """Every device with its kind, memory, load and what is resident."""
    return answers.document({"data": services.pool.devices(), "next": None})


@router.get("/v1/language")
async def language(services: Annotated[Services, Depends(services_of)]) -> Response:
    """Every name a function may use, with its signature and a line on what it does."""
    said = await services.pool.ask("catalogue", {}, deadline_s=services.settings.trace_s)
    return answers.document({"data": said["items"], "next": None})
