"""``/v1/functions``: source kept under the id of its content."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.core.codec.documents import parse
from app.core.errors import InvalidBody
from app.routes import answers
from app.routes.dependencies import read, services_of
from app.routes.models import Fields, validate
from app.services.assembly import Services
from app.services.function import Source

router = APIRouter(prefix="/v1/functions", tags=["functions"])


class FunctionFields(Fields):
    """A function to keep: its source, and the entry where it is not the last definition."""

    source: str
    entry: str | None = None


@router.post("", openapi_extra={"requestBody": {"content": {"application/json": {
    "schema": FunctionFields.model_json_schema()}}, "required": True}})  # fmt: skip
async def post_function(
    request: Request, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """Check a function and keep it; 201 the first time, 200 with the same id after."""
    body, media = await read(request, services)
    document = parse(body, media, services.settings.nesting)
    if type(document) is str:
        document = {"source": document}
    if type(document) is not dict:
        raise InvalidBody("The body is not an object", hint='Send {"source": "lambda x: x**2"}')
    fields: FunctionFields = validate(FunctionFields, document)
    described, created = await services.functions.register(Source(fields.source, fields.entry))
    name = described["function"]
    return answers.resource(described, name, f"/v1/functions/{name}", created=created)


@router.get("/{function_id}")
async def get_function(
    function_id: str, request: Request, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """Source, kind, entry and parameters of a function."""
    described = await services.functions.get(function_id)
    return answers.unchanged(request, function_id) or answers.resource(
        described, function_id, f"/v1/functions/{function_id}"
    )
