"""``/v1/programs``: compile ahead of time, ask what a program is, read its text at each stage."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from app.core.codec.calls import DecodedBody, decode_body
from app.core.codec.documents import Media
from app.core.errors import NotFound
from app.routes import answers
from app.routes.dependencies import read, services_of
from app.routes.models import VERB_FIELDS, CallFields, options_of, validate
from app.services.assembly import Services
from app.services.call import Inputs
from app.services.program import FoundProgram, program_id

router = APIRouter(prefix="/v1/programs", tags=["programs"])
STAGES = ("jaxpr", "stablehlo", "hlo")


@router.post("")
async def post_program(
    request: Request, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """Compile from shapes or values: id, signature, cost, and where the program was found."""
    body, media = await read(request, services)
    decoded = await _decoded(body, media, services)
    verb = decoded.fields.get("verb", "evaluate")
    model = VERB_FIELDS.get(verb) if isinstance(verb, str) else None
    if model is None:
        raise NotFound(f"No verb {str(verb)[:40]!r}", hint="One of " + ", ".join(VERB_FIELDS))
    if model.INPUTS:
        decoded = await _decoded(body, media, services, model.INPUTS)
    decoded.fields.pop("verb", None)
    fields: CallFields = validate(model, decoded.fields)
    source = await services.functions.resolve(fields.function)
    groups = {"args": [], **decoded.inputs}
    spec, _ = await services.calls.spec(
        verb,
        source,
        Inputs(groups, decoded.leaves),
        options_of(fields),
        dtype=fields.dtype,
        platform=services.settings.platform,
    )
    found = await services.programs.find(spec)
    name = program_id(found.image.key)
    created = found.cache == "compiled"
    return answers.resource(_described(found), name, f"/v1/programs/{name}", created=created)


async def _decoded(
    body: bytes, media: Media, services: Services, own: tuple[str, ...] = ()
) -> DecodedBody:
    weight = len(body) if media == "json" else 0
    return await services.codec.run(
        weight, decode_body, body, media, services.codec_limits, abstract=True, own=own
    )


def _described(found: FoundProgram) -> dict[str, Any]:
    spec, meta = found.image.spec, found.image.meta
    return {
        "program": program_id(found.image.key),
        "verb": spec.verb,
        "signature": {
            "inputs": dict(spec.inputs),
            "avals": [_aval(aval.to_wire()) for aval in spec.avals],
            "out": meta["out"],
            "out_avals": [_aval(wire) for wire in meta["out_avals"]],
        },
        "cost": meta.get("cost", {}),
        "key": spec.digests(),
        "cache": {"state": found.cache, "missed": list(found.missed)},
    }


def _aval(wire: list[Any]) -> dict[str, Any]:
    dtype, shape, layout, nse = wire
    sparse = {} if layout == "dense" else {"layout": layout, "nse": nse}
    return {"dtype": dtype, "shape": list(shape), **sparse}


@router.get("/{name}")
async def get_program(
    name: str, request: Request, services: Annotated[Services, Depends(services_of)]
) -> Response:
    """What a program is, and where it is found now."""
    found = await services.programs.find(await services.programs.spec(name))
    return answers.unchanged(request, name) or answers.resource(
        _described(found), name, f"/v1/programs/{name}"
    )


@router.get("/{name}/ir/{stage}")
async def get_ir(
    name: str,
    stage: str,
    request: Request,
    services: Annotated[Services, Depends(services_of)],
) -> Response:
    """The program's text at a stage; per line the source lines and the role they play in it."""
    if stage not in STAGES:
        raise NotFound(f"No stage {stage[:40]!r}", hint="One of " + ", ".join(STAGES))
    tag = f"{name}/{stage}"
    held = answers.unchanged(request, tag)
    if held is not None:
        return held
    text = await services.programs.text(name, stage)
    return answers.document(text, headers={"etag": f'"{tag}"'})
