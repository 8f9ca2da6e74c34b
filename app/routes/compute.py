"""The hot path: one bare ASGI endpoint for every verb and for running programs by id.

No framework between the socket and the service: a body is read, decoded, run and encoded here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from app.core.codec.calls import DecodedBody, decode_body, encode_body
from app.core.codec.documents import Media
from app.routes import problems
from app.routes.models import (
    VERB_FIELDS,
    CallFields,
    FloatType,
    Output,
    RunFields,
    options_of,
    validate,
)
from app.routes.reading import (
    BodyLimits,
    Departure,
    Disconnected,
    Receive,
    Scope,
    Send,
    accepted,
    media_of,
    read_body,
)
from app.services.assembly import Services
from app.services.call import Answer, Inputs, RunOptions

PROGRAMS = "/v1/programs/"
_MEDIA_TYPES: Mapping[Media, bytes] = {
    "json": b"application/json",
    "msgpack": b"application/msgpack",
}


class ComputeEndpoint:
    """Answers ``POST /v1/{verb}`` and ``POST /v1/programs/{id}``."""

    def __init__(self, services: Services) -> None:
        self._services = services
        settings = services.settings
        self._limits = BodyLimits(settings.body_bytes, settings.body_s)
        self.paths = {f"/v1/{verb}": verb for verb in VERB_FIELDS}

    def handles(self, scope: Scope) -> bool:
        """Whether a request is one of ours."""
        path = scope["path"]
        if scope["method"] != "POST":
            return False
        return path in self.paths or (path.startswith(PROGRAMS) and "/" not in path[13:])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; every failure becomes problem+json."""
        started = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        verb = self.paths.get(scope["path"])
        status, cache = 200, ""
        try:
            media = media_of(headers)
            body = await read_body(headers, receive, self._limits)
            with Departure(receive):
                if verb is None:
                    name = scope["path"][len(PROGRAMS) :]
                    answer, dtype, output = await self._rerun(name, body, media)
                else:
                    answer, dtype, output = await self._call(verb, body, media)
                media = accepted(headers, media)
                payload = await self._encode(answer, dtype, output, media)
            cache = answer.fields.get("cache", "")
            head = [
                (b"content-type", _MEDIA_TYPES[media]),
                (b"server-timing", _server_timing(answer.timings)),
            ]
        except Disconnected:
            return
        except Exception as error:  # noqa: BLE001  the last place: nothing may pass as a 500 page
            problem = problems.problem_of(error)
            status, payload = problem.status, problems.body_of(problem)
            head = [(k.encode(), v.encode()) for k, v in problems.headers_of(problem).items()]
        head.append((b"content-length", str(len(payload)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": payload})
        seconds = time.perf_counter() - started
        self._services.metrics.called(verb or "program", status, cache, seconds)

    async def _call(self, verb: str, body: bytes, media: Media) -> tuple[Answer, FloatType, Output]:
        services = self._services
        decoded = await self._decode(body, media)
        fields: CallFields = validate(VERB_FIELDS[verb], decoded.fields)
        source = await services.functions.resolve(fields.function)
        spec, leaves = await services.calls.spec(
            verb,
            source,
            _inputs(decoded),
            options_of(fields),
            dtype=fields.dtype,
            platform=services.settings.platform,
        )
        if verb == "abstract_eval":
            answer = await _abstract(services, spec)
        else:
            answer = await services.calls.run(spec, leaves, _run_options(fields))
        return answer, fields.dtype, fields.output

    async def _rerun(
        self, name: str, body: bytes, media: Media
    ) -> tuple[Answer, FloatType, Output]:
        services = self._services
        spec = await services.programs.spec(name)
        decoded = await self._decode(body, media, spec.dtype)
        fields: RunFields = validate(RunFields, decoded.fields)
        answer = await services.calls.rerun(name, _inputs(decoded), _run_options(fields))
        dtype: FloatType = "float32" if spec.dtype == "float32" else "float64"
        return answer, dtype, fields.output

    async def _decode(self, body: bytes, media: Media, dtype: str | None = None) -> DecodedBody:
        services = self._services
        # msgpack holds arrays as bytes: decoding it is cheap whatever its size.
        weight = len(body) if media == "json" else 0
        return await services.codec.run(
            weight, decode_body, body, media, services.codec_limits, dtype=dtype
        )

    async def _encode(self, answer: Answer, dtype: str, output: Output, media: Media) -> bytes:
        heavy = media == "json" and output.encoding == "json"
        weight = sum(getattr(leaf, "nbytes", 0) for leaf in answer.leaves) if heavy else 0
        return await self._services.codec.run(
            weight,
            encode_body,
            answer.fields,
            {"result": answer.result},
            answer.leaves,
            media,
            dtype,
            output.encoding,
        )


async def _abstract(services: Services, spec: Any) -> Answer:
    said = await services.calls.abstract_eval(spec)
    return Answer(None, [], {"result": said["out"], "lines": said["lines"]})


def _inputs(decoded: DecodedBody) -> Inputs:
    groups = decoded.inputs if "args" in decoded.inputs else {"args": [], **decoded.inputs}
    return Inputs(groups, decoded.leaves)


def _run_options(fields: RunFields) -> RunOptions:
    return RunOptions(fields.device, fields.timeout_s, fields.diagnose, fields.output.store)


def _server_timing(timings: Mapping[str, float]) -> bytes:
    """RFC-style ``name;dur=milliseconds`` entries."""
    return ", ".join(f"{name};dur={s * 1e3:.3f}" for name, s in timings.items()).encode()
