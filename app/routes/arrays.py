"""``/v1/arrays``: values uploaded once and used by reference."""

from __future__ import annotations

import io
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Request, Response

from app.core.codec.calls import decode_value
from app.core.codec.documents import Media, dump
from app.core.codec.encode import Encoder
from app.core.errors import InvalidArgument, NotAcceptable
from app.core.npy import read_npy
from app.core.values import Leaf, SparseValue
from app.routes import answers
from app.routes.dependencies import read_raw, services_of
from app.routes.reading import MSGPACK_TYPES, media_of
from app.services.array import StoredArray
from app.services.assembly import Services

router = APIRouter(prefix="/v1/arrays", tags=["arrays"])

NPY_MAGIC = b"\x93NUMPY"
NPY_TYPES = ("application/x-npy", "application/npy")
_VALUE_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {}},
            "application/msgpack": {"schema": {}},
            "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("", openapi_extra=_VALUE_SCHEMA)
async def post_array(
    request: Request, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """Keep one value (JSON, msgpack or .npy); 201 the first time, 200 with the same id after."""
    body = await read_raw(request, services)
    value = await _value(body, dict(request.scope["headers"]), services)
    stored, created = await services.arrays.put(value)
    return answers.resource(
        stored.metadata(), stored.id, f"/v1/arrays/{stored.id}", created=created
    )


async def _value(body: bytes, headers: dict[bytes, bytes], services: Services) -> Leaf:
    if body.startswith(NPY_MAGIC):
        return read_npy(body)
    media = media_of(headers)
    weight = len(body) if media == "json" else 0
    decoded = await services.codec.run(weight, decode_value, body, media, services.codec_limits)
    if decoded.inputs["value"] != 0 or not isinstance(decoded.leaves[0], (np.ndarray, SparseValue)):
        raise InvalidArgument(
            "The body is not one array",
            pointer="",
            hint="Send a number, a nested list or a typed array; post each array by itself",
        )
    return decoded.leaves[0]


@router.get("/{array_id}")
async def get_array(
    array_id: str, request: Request, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """dtype, shape, layout and bytes of an array."""
    stored = await services.arrays.get(array_id)
    return answers.unchanged(request, array_id) or answers.resource(
        stored.metadata(), array_id, f"/v1/arrays/{array_id}"
    )


@router.delete("/{array_id}", status_code=204)
async def delete_array(
    array_id: str, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """Forget an array."""
    await services.arrays.delete(array_id)
    return Response(status_code=204)


@router.get("/{array_id}/data")
async def get_data(
    array_id: str,
    request: Request,
    services: Annotated[Services, Depends(services_of)],
    layout: str | None = None,
) -> Response:
    """The value itself: JSON, msgpack or .npy by Accept."""
    stored = await services.arrays.get(array_id)
    if layout not in (None, "dense"):
        raise NotAcceptable(f"A dense array is not served as {layout[:20]!r}")
    return answers.unchanged(request, array_id) or await _written(stored, request, services)


async def _written(stored: StoredArray, request: Request, services: Services) -> Response:
    accept = request.headers.get("accept", "").lower()
    headers = {"etag": f'"{stored.id}"'}
    if any(kind in accept for kind in NPY_TYPES):
        return Response(_npy(stored), headers=headers, media_type=NPY_TYPES[0])
    media: Media = "msgpack" if any(kind in accept for kind in MSGPACK_TYPES) else "json"
    weight = stored.metadata()["bytes"] if media == "json" else 0
    body = await services.codec.run(weight, _encode, stored.value, media)
    return Response(body, headers=headers, media_type=f"application/{media}")


def _encode(value: Leaf, media: Media) -> bytes:
    document: Any = Encoder(media, "float64").leaf(value)
    return dump(document, media)


def _npy(stored: StoredArray) -> bytes:
    if isinstance(stored.value, SparseValue):
        raise NotAcceptable("A sparse array has no .npy form", hint="Ask for JSON or msgpack")
    if stored.value.dtype.name == "bfloat16":
        raise NotAcceptable(".npy has no bfloat16", hint="Ask for JSON or msgpack")
    file = io.BytesIO()
    np.save(file, stored.value, allow_pickle=False)
    return file.getvalue()
