"""The hot path: one bare ASGI endpoint for every verb and for running programs by id.

No framework between the socket and the service: a body is read, decoded, run and encoded here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.compute.spec import ProgramSpec
from app.core.codec.calls import DecodedBody, decode_body, encode_body
from app.core.codec.documents import Media, dump
from app.routes import access, problems
from app.routes.clients import client_of
from app.routes.models import (
    VERB_FIELDS,
    CallFields,
    RunFields,
    inputs_of,
    options_of,
    validate,
)
from app.routes.preference import Preference, idempotency_key, preference_of
from app.routes.reading import (
    BodyLimits,
    Disconnected,
    Receive,
    Scope,
    Send,
    Watch,
    accepted,
    gather,
    media_of,
    unpack,
)
from app.services.assembly import Services
from app.services.call import Answer, Inputs, RunOptions
from app.services.function import Source
from app.services.memory import Memory
from app.services.runs.packing import Request
from app.services.runs.run import Client

PROGRAMS = "/v1/programs/"
_KNOWN_BYTES = 32 << 20
MEDIA_TYPES: Mapping[Media, bytes] = {
    "json": b"application/json",
    "msgpack": b"application/msgpack",
}


class ComputeEndpoint:
    """Answers ``POST /v1/{verb}`` and ``POST /v1/programs/{id}``."""

    def __init__(self, services: Services) -> None:
        self._services = services
        settings = services.settings
        self._limits = BodyLimits(settings.body_bytes, settings.body_s)
        self._keyed = bool(settings.api_keys)
        self._known: Memory[bytes, _Understood] = Memory(_KNOWN_BYTES)
        self.paths = {f"/v1/{verb}": verb for verb in VERB_FIELDS}

    def handles(self, scope: Scope) -> bool:
        """Whether a request is one of ours."""
        path = scope["path"]
        if scope["method"] != "POST":
            return False
        return path in self.paths or (path.startswith(PROGRAMS) and "/" not in path[13:])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request that came by way of FastAPI's router."""
        await self.answer(scope, dict(scope["headers"]), receive, send)

    async def answer(
        self,
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
        send: Send,
        mark: bytes | None = None,
    ) -> None:
        """Answer one request; every failure becomes problem+json. ``mark``: the request's id."""
        started = time.perf_counter()
        verb = self.paths.get(scope["path"])
        status, cache = 200, ""
        try:
            media = media_of(headers)
            media_out = accepted(headers, media)
            with Watch(receive, self._limits) as watch:
                body = await gather(headers, receive, self._limits)
                watch.arrived()
                if b"content-encoding" in headers:
                    body = await unpack(body, headers, self._limits)
                asked = await self._asked(verb, scope["path"], body, media)
                prefer = headers.get(b"prefer")
                if prefer is not None and (preference := preference_of(prefer)) is not None:
                    client = client_of(scope, headers, keyed=self._keyed)
                    begun = await self._begin(asked, preference, client, headers, media_out)
                    status, payload, head = begun
                else:
                    calls = self._services.calls
                    answer = await calls.answer(asked.spec, asked.leaves, asked.run)
                    payload = await self._encode(answer, asked, media_out)
                    cache = answer.fields.get("cache", "")
                    head = [
                        (b"content-type", MEDIA_TYPES[media_out]),
                        (b"server-timing", _server_timing(answer.timings)),
                    ]
        except Disconnected:
            return
        except Exception as error:  # noqa: BLE001  the last place: nothing may pass as a 500 page
            problem = problems.problem_of(error, mark)
            status, payload = problem.status, problems.body_of(problem)
            head = [(k.encode(), v.encode()) for k, v in problems.headers_of(problem).items()]
        head.append((b"content-length", b"%d" % len(payload)))
        if mark is not None:
            head.append((b"x-request-id", mark))
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": payload})
        seconds = time.perf_counter() - started
        self._services.metrics.called(verb or "program", status, cache, seconds)
        if mark is not None:
            access.log(scope, mark, status, seconds)

    async def _asked(self, verb: str | None, path: str, body: bytes, media: Media) -> _Asked:
        services = self._services
        if verb is None:
            name = path[len(PROGRAMS) :]
            spec = await services.programs.spec(name)
            decoded = await self._decode(body, media, spec.verb, spec.dtype)
            fields: RunFields = validate(RunFields, decoded.fields)
            spec, leaves = await services.calls.fitted(name, _inputs(decoded))
            return _Asked(spec, leaves, fields, _run_options(fields))
        decoded = await self._decode(body, media, verb)
        inputs = _inputs(decoded)
        written = dump([verb, decoded.fields, inputs.groups], "msgpack")
        known = self._known.get(written)
        if known is None:
            known = await self._understood(verb, decoded.fields)
            self._known.put(written, known, len(written) + 1024)
        spec, leaves = await services.calls.spec(
            verb,
            known.source,
            inputs,
            known.options,
            dtype=known.fields.dtype,
            platform=services.settings.platform,
            written=written,
        )
        return _Asked(spec, leaves, known.fields, known.run)

    async def _understood(self, verb: str, document: dict[str, Any]) -> _Understood:
        """The fields beside the inputs; the caller keeps them for all calls that repeat them."""
        fields: CallFields = validate(VERB_FIELDS[verb], document)
        source = await self._services.functions.resolve(fields.function)
        return _Understood(fields, source, options_of(fields), _run_options(fields))

    async def _begin(
        self,
        asked: _Asked,
        preference: Preference,
        client: Client,
        headers: Mapping[bytes, bytes],
        media: Media,
    ) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
        """Begin a run: 202 and where it is, or its answer or problem where ``wait`` sees it end."""
        runs, fields = self._services.runs, asked.fields
        request = Request(asked.spec, asked.leaves, asked.run, fields.output.encoding)
        run = await runs.submit(asked.spec.verb, request, client, idempotency_key(headers))
        head = [
            (b"content-type", MEDIA_TYPES[media]),
            (b"location", f"/v1/runs/{run.id}".encode()),
            (b"preference-applied", b"respond-async"),
        ]
        if preference.wait_s:
            await runs.wait(run.id, preference.wait_s)
            run = await runs.get(run.id, client)
            answered = await runs.answer(run, media) if run.status == "done" else None
            if answered is not None:
                return 200, answered, head
            if run.problem is not None:
                head[0] = (b"content-type", problems.MEDIA_TYPE.encode())
                return run.problem["status"], dump(run.problem, "json"), head
        return 202, dump({"run": run.id, "status": run.status}, media), head

    async def _decode(
        self, body: bytes, media: Media, verb: str, dtype: str | None = None
    ) -> DecodedBody:
        services = self._services
        # msgpack holds arrays as bytes: decoding it is cheap whatever its size.
        weight = len(body) if media == "json" else 0
        return await services.codec.run(
            weight,
            decode_body,
            body,
            media,
            services.codec_limits,
            dtype=dtype,
            abstract=verb == "abstract_eval",
            own=inputs_of(verb),
        )

    async def _encode(self, answer: Answer, asked: _Asked, media: Media) -> bytes:
        encoding = asked.fields.output.encoding
        heavy = media == "json" and encoding == "json"
        weight = sum(getattr(leaf, "nbytes", 0) for leaf in answer.leaves) if heavy else 0
        return await self._services.codec.run(
            weight,
            encode_body,
            answer.fields,
            {"result": answer.result},
            answer.leaves,
            media,
            asked.spec.dtype,
            encoding,
        )


@dataclass(frozen=True, slots=True)
class _Understood:
    """Checked fields, the function they name, and what of them shapes the program."""

    fields: CallFields
    source: Source
    options: Mapping[str, Any]
    run: RunOptions


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, understood: what to run, on what, and how to answer."""

    spec: ProgramSpec
    leaves: list[Any]
    fields: RunFields
    run: RunOptions


def _inputs(decoded: DecodedBody) -> Inputs:
    groups = decoded.inputs if "args" in decoded.inputs else {"args": [], **decoded.inputs}
    return Inputs(groups, decoded.leaves)


def _run_options(fields: RunFields) -> RunOptions:
    return RunOptions(
        device=fields.device,
        timeout_s=fields.timeout_s,
        diagnose=fields.diagnose,
        store=fields.output.store,
        layout=fields.output.layout,
    )


def _server_timing(timings: Mapping[str, float]) -> bytes:
    """RFC-style ``name;dur=milliseconds`` entries."""
    return b", ".join([b"%s;dur=%.3f" % (name.encode(), s * 1e3) for name, s in timings.items()])
