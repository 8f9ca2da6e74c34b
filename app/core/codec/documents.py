"""Bytes to plain documents (dict, list, number, string) and back: JSON by orjson, and msgpack.

Strict where silence would change a number: bare NaN, 1e400 and unpaired surrogates are refused,
the integer ``-0`` keeps its sign. Depth is bounded before anything recurses.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgpack
import orjson

from app.core.errors import InvalidBody

Media = Literal["json", "msgpack"]

_NEGATIVE_ZERO = re.compile(rb"[\[,:\s]-0[\s,\]}]")
_STRING_OR_NEGATIVE_ZERO = re.compile(rb'"(?:[^"\\]|\\.)*"|-0(?=[\s,\]}])', re.DOTALL)
_UTF8_MARK = b"\xef\xbb\xbf"


def parse(body: bytes, media: Media, nesting: int) -> Any:
    """The document that ``body`` holds; InvalidBody says at which byte it stops making sense."""
    if not body:
        raise InvalidBody("The body is empty", hint="Send a JSON object")
    if media == "msgpack":
        document = _parse_msgpack(body)
    else:
        document = _parse_json(body)
        # Text cannot nest deeper than it has brackets: most bodies need no walk.
        if body.count(b"[") + body.count(b"{") <= nesting:
            return document
    _check_depth(document, nesting)
    return document


def _parse_json(body: bytes) -> Any:
    if body.startswith(_UTF8_MARK):
        body = body[3:]
    if b"-0" in body and _NEGATIVE_ZERO.search(body):
        body = _STRING_OR_NEGATIVE_ZERO.sub(_keep_sign, body)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidBody(
            f"The body is not JSON: {error.msg}, line {error.lineno}, column {error.colno}",
            line=error.lineno,
            column=error.colno,
            hint=_hint(error),
        ) from None


def _hint(error: orjson.JSONDecodeError) -> str:
    """What to write at the place where JSON ends: the usual mistakes by their first letter."""
    rest = error.doc[error.pos : error.pos + 9].lstrip("-").lower()
    if "infinity" in error.msg or rest.startswith(("nan", "inf")):
        return 'Write not-a-number and infinities as "NaN", "Infinity", "-Infinity"'
    if rest.startswith(("none", "true", "false")):
        return "Write null, true and false"
    if rest.startswith("'"):
        return 'Put names and text between double quotes, like "x"'
    if error.msg.startswith("depth"):
        return "Nest less; a typed array may hold its numbers flat, beside its shape"
    return 'Send JSON like {"function": "lambda x: x**2", "args": [3.0]}, in UTF-8'


def _keep_sign(match: re.Match[bytes]) -> bytes:
    text = match.group()
    return b"-0.0" if text == b"-0" else text


def _parse_msgpack(body: bytes) -> Any:
    try:
        return msgpack.unpackb(body, ext_hook=_refuse_extension, strict_map_key=True)
    except InvalidBody:
        raise
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        said = str(error)[:120] or type(error).__name__
        raise InvalidBody(
            f"The body is not msgpack: {said}",
            hint="Send one msgpack map with text as its keys, or JSON as application/json",
        ) from None


def _refuse_extension(code: int, _data: bytes) -> Any:
    raise InvalidBody(
        f"The msgpack extension type {code} is not read here",
        hint='Send arrays as {"dtype", "shape", "data"} with data as bytes',
    )


def _check_depth(document: Any, nesting: int) -> None:
    level = [document]
    for _ in range(nesting):
        level = [
            child
            for branch in level
            if branch
            for child in (branch.values() if isinstance(branch, dict) else _sample(branch))
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise InvalidBody(
        f"The body is nested deeper than {nesting} levels",
        hint="Nest less; a typed array may hold its numbers flat, beside its shape",
    )


def _sample(branch: Any) -> Any:
    """Long lists of numbers hold no further level: their first entry tells."""
    if isinstance(branch, list):
        return branch if isinstance(branch[0], (dict, list)) or len(branch) < 64 else _rare(branch)
    return ()


def _rare(branch: list[Any]) -> list[Any]:
    kinds = set(map(type, branch))
    return branch if dict in kinds or list in kinds else []


def dump(document: Any, media: Media) -> bytes:
    """The bytes of a document; numpy arrays inside are written as their numbers (JSON)."""
    if media == "json":
        return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    packed: bytes = msgpack.packb(document)  # pyright: ignore[reportAssignmentType]
    return packed
