"""``/v1/arrays``: values uploaded once and used by reference."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response

from app.core.codec.calls import decode_value
from app.core.codec.documents import Media, dump
from app.core.codec.encode import Encoder
from app.core.errors import InvalidArgument, InvalidBody, NotAcceptable, UnsupportedMediaType
from app.core.values import Leaf, SparseValue
from app.routes import answers
from app.routes.dependencies import read_raw, services_of
from app.routes.reading import MSGPACK_TYPES, media_of
from app.services.array import arrange
from app.services.assembly import Services
from app.sparse import files
from app.sparse.ingest import ingest
from app.sparse.spy import MAX_BINS, binned

router = APIRouter(prefix="/v1/arrays", tags=["arrays"])

_VALUE_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {}},
            "application/msgpack": {"schema": {}},
            **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in files.WRITERS},
        },
    }
}


@router.post("", openapi_extra=_VALUE_SCHEMA)
async def post_array(
    request: Request, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """Keep one value: JSON, msgpack, .npy, .npz, Matrix Market. 201 the first time, then 200."""
    body = await read_raw(request, services)
    value = await _value(body, dict(request.scope["headers"]), services)
    if isinstance(value, SparseValue):
        # What no call could take is refused here, however it came.
        await asyncio.to_thread(ingest, value)
    stored, created = await services.arrays.put(value)
    return answers.resource(
        stored.metadata(), stored.id, f"/v1/arrays/{stored.id}", created=created
    )


async def _value(body: bytes, headers: dict[bytes, bytes], services: Services) -> Leaf:
    """The value of a body: files are known by how they begin, whatever their type is said to be."""
    read = files.reader_of(body, _content_type(headers))
    if read is not None:
        limit = services.settings.array_bytes
        return await services.codec.run(len(body), read, body, max_bytes=limit)
    media = _media(body, headers)
    weight = len(body) if media == "json" else 0
    decoded = await services.codec.run(weight, decode_value, body, media, services.codec_limits)
    if decoded.inputs["value"] != 0 or not isinstance(decoded.leaves[0], (np.ndarray, SparseValue)):
        raise InvalidArgument(
            "The body is not one array",
            pointer="",
            hint="Send a number, a nested list or a typed array; post each array by itself",
        )
    value: Leaf = decoded.leaves[0]
    return value


def _media(body: bytes, headers: dict[bytes, bytes]) -> Media:
    """The type of a document of values; what is neither one nor a known file is refused."""
    if not body:
        raise InvalidBody("The body is empty", hint="Send a value, or a file")
    try:
        return media_of(headers)
    except UnsupportedMediaType:
        said = _content_type(headers)
        raise UnsupportedMediaType(
            f"The body is no array file that is known here, and {said[:60]!r} is no document",
            hint="A .npy, scipy .npz or Matrix Market file (it begins %%MatrixMarket), or a value "
            "as application/json or application/msgpack",
        ) from None


def _content_type(headers: dict[bytes, bytes]) -> str:
    return headers.get(b"content-type", b"").split(b";")[0].strip().lower().decode("latin-1")


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
    """The value itself, in the layout asked for: JSON, msgpack, .npy, .npz or .mtx by Accept."""
    stored = await services.arrays.get(array_id)
    tag = array_id if layout is None else f"{array_id}/{layout}"
    held = answers.unchanged(request, tag)
    if held is not None:
        return held
    value = (
        stored.value if layout is None else await asyncio.to_thread(arrange, stored.value, layout)
    )
    return await _written(value, tag, request, services)


@router.get("/{array_id}/pattern")
async def get_pattern(
    array_id: str,
    services: Annotated[Services, Depends(services_of)],
    bins: Annotated[int, Query(ge=1, le=MAX_BINS)] = 64,
) -> Response:
    """Counts of stored entries on a coarse grid: a spy plot of any size."""
    stored = await services.arrays.get(array_id)
    if not isinstance(stored.value, SparseValue):
        raise NotAcceptable("A dense array has no pattern", hint="Upload it in a sparse layout")
    matrix = await asyncio.to_thread(ingest, stored.value)
    counts = await asyncio.to_thread(binned, matrix, bins)
    body = {"array": array_id, "shape": list(matrix.shape), "nnz": matrix.entries, "counts": counts}
    return answers.document(body)


async def _written(value: Leaf, tag: str, request: Request, services: Services) -> Response:
    accept = request.headers.get("accept", "").lower()
    headers = {"etag": f'"{tag}"'}
    for media_type, write in files.WRITERS.items():
        if media_type in accept:
            body = await services.codec.run(_size(value), write, value)
            return Response(body, headers=headers, media_type=media_type)
    media: Media = "msgpack" if any(kind in accept for kind in MSGPACK_TYPES) else "json"
    if media == "json" and not _takes_json(accept):
        raise NotAcceptable(
            f"An array is not served as {accept[:60]!r}",
            hint="One of " + ", ".join(("application/json", MSGPACK_TYPES[0], *files.WRITERS)),
        )
    body = await services.codec.run(_size(value) if media == "json" else 0, _encode, value, media)
    return Response(body, headers=headers, media_type=f"application/{media}")


def _takes_json(accept: str) -> bool:
    return not accept or any(kind in accept for kind in ("json", "*/*", "application/*", "text/*"))


def _size(value: Leaf) -> int:
    parts = value.parts.values() if isinstance(value, SparseValue) else (value,)
    return sum(part.nbytes for part in parts)


def _encode(value: Leaf, media: Media) -> bytes:
    document: Any = Encoder(media, "float64").leaf(value)
    return dump(document, media)
