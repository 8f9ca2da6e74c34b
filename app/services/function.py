"""Functions as resources: source kept under the id of its content, checked by a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgpack

from app.cache.store import Store
from app.compute.pool.protocol import Pool
from app.core.codec.documents import dump
from app.core.errors import InvalidArgument, NotFound, TooLarge
from app.core.ids import content_id, is_id
from app.services.memory import Memory

NAMESPACE = "fn"
_REMEMBERED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A function as text; ``entry`` None means the last definition."""

    text: str
    entry: str | None = None

    def id(self) -> str:
        """``fn_`` and the hash of the text and the entry."""
        return content_id("fn", [self.text.encode(), (self.entry or "").encode()])


class FunctionService:
    """Checks, keeps and finds functions."""

    def __init__(self, store: Store, pool: Pool, *, source_bytes: int, check_s: float) -> None:
        self._store = store
        self._pool = pool
        self._source_bytes = source_bytes
        self._check_s = check_s
        self._known: Memory[str, Source] = Memory(_REMEMBERED_BYTES)

    async def register(self, source: Source) -> tuple[dict[str, Any], bool]:
        """Check and keep a function; its description, and whether it is new here."""
        described = await self.describe(source)
        packed = dump([source.text, source.entry], "msgpack")
        created = await self._store.put_if_absent(NAMESPACE, source.id(), packed)
        return described, created

    async def describe(self, source: Source) -> dict[str, Any]:
        """Id, kind, entry and parameters; raises RefusedSource where the language refuses it."""
        self.check_size(source)
        checked = await self._pool.ask(
            "check", {"source": source.text, "entry": source.entry}, deadline_s=self._check_s
        )
        return {"function": source.id(), **checked, "source": source.text}

    async def get(self, function_id: str) -> dict[str, Any]:
        """The description of a function kept before."""
        return await self.describe(await self.find(function_id))

    async def find(self, function_id: str) -> Source:
        """The source behind an id; NotFound where it was never posted or has been evicted."""
        known = self._known.get(function_id)
        if known is not None:
            return known
        packed = await self._store.get(NAMESPACE, function_id) if is_id("fn", function_id) else None
        source = None if packed is None else _unpack(packed)
        if source is None or source.id() != function_id:
            raise NotFound(
                f"No function {function_id[:60]!r} is kept here",
                hint="POST its source to /v1/functions",
            )
        self._known.put(function_id, source, len(source.text) + 64)
        return source

    async def resolve(self, field: Any) -> Source:
        """The ``function`` field of a call: a string, ``{"source", "entry"}`` or ``{"id"}``."""
        if isinstance(field, str):
            source = Source(field)
        elif isinstance(field, dict) and set(field) == {"id"} and isinstance(field["id"], str):
            return await self.find(field["id"])
        elif isinstance(field, dict) and _is_source(field):
            source = Source(field["source"], field.get("entry"))
        else:
            raise InvalidArgument(
                "function is a string of source, or an object of source and entry, or of id alone",
                pointer="/function",
                hint='Like "lambda x: x**2 + sin(x)", or {"id": "fn_…"}',
            )
        self.check_size(source)
        return source

    def check_size(self, source: Source) -> None:
        """Raise TooLarge for source past the limit, before it is hashed or sent anywhere."""
        if len(source.text) > self._source_bytes:
            raise TooLarge(
                f"The source has {len(source.text)} characters; {self._source_bytes} are allowed",
                pointer="/function",
                hint="Send data as arguments, not as literals in the source",
            )


def _is_source(field: dict[str, Any]) -> bool:
    named = isinstance(field.get("entry"), str | None)
    return set(field) <= {"source", "entry"} and isinstance(field.get("source"), str) and named


def _unpack(packed: bytes) -> Source | None:
    """The store is not trusted: what does not read is not there."""
    try:
        text, entry = msgpack.unpackb(packed)
    except (ValueError, TypeError, msgpack.UnpackException):
        return None
    fits = isinstance(text, str) and (entry is None or isinstance(entry, str))
    return Source(text, entry) if fits else None
