"""Requests, answers and solver states as bytes for the store, every leaf with its exact type.

What comes back from the store was signed when it was kept; see ``journal``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgpack

from app.compute.image import Resident
from app.compute.spec import ProgramSpec
from app.core.codec.calls import CodecLimits
from app.core.codec.decode import Decoder, Reference
from app.core.codec.documents import dump
from app.core.codec.encode import Encoder, Encoding
from app.core.values import SparseValue
from app.services.call import Answer, RunOptions
from app.services.matrix import Matrix


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is to compute; arrays that were named stay references until it begins."""

    spec: ProgramSpec
    leaves: list[Any]
    options: RunOptions
    encoding: Encoding = "json"


@dataclass(frozen=True, slots=True)
class Result:
    """An answer and how it is to be written."""

    answer: Answer
    dtype: str
    encoding: Encoding


def pack_request(request: Request) -> bytes:
    """A request as bytes. O(bytes): off the event loop when large."""
    document = [
        request.spec.to_wire(),
        asdict(request.options),
        request.encoding,
        _documents(request.leaves),
    ]
    return dump(document, "msgpack")


def unpack_request(content: bytes, limits: CodecLimits) -> Request:
    """The request that ``pack_request`` wrote."""
    spec, options, encoding, documents = msgpack.unpackb(content)
    leaves = _leaves(documents, limits)
    return Request(ProgramSpec.from_wire(spec), leaves, RunOptions(**options), encoding)


def pack_result(result: Result) -> bytes:
    """An answer as bytes."""
    answer = result.answer
    document = [
        answer.result,
        answer.fields,
        answer.timings,
        result.dtype,
        result.encoding,
        _documents(answer.leaves),
    ]
    return dump(document, "msgpack")


def unpack_result(content: bytes, limits: CodecLimits) -> Result:
    """The answer that ``pack_result`` wrote."""
    structure, fields, timings, dtype, encoding, documents = msgpack.unpackb(content)
    answer = Answer(structure, _leaves(documents, limits), fields, timings)
    return Result(answer, dtype, encoding)


def pack_leaves(leaves: Sequence[Any]) -> bytes:
    """Arrays as bytes."""
    return dump(_documents(leaves), "msgpack")


def unpack_leaves(content: bytes, limits: CodecLimits) -> list[Any]:
    """The arrays that ``pack_leaves`` wrote."""
    return _leaves(msgpack.unpackb(content), limits)


def weight(leaves: Sequence[Any]) -> int:
    """About how many bytes leaves have when packed."""
    return sum(map(_weight, leaves))


def _weight(leaf: Any) -> int:
    if isinstance(leaf, (Resident, Reference)):
        return 64
    if isinstance(leaf, Matrix):
        leaf = leaf.value
    if isinstance(leaf, SparseValue):
        return sum(part.nbytes for part in leaf.parts.values())
    return leaf.nbytes


def _documents(leaves: Sequence[Any]) -> list[Any]:
    encoder = Encoder("msgpack", dtype="")  # no float type is the request's own: all say theirs
    return [_document(leaf, encoder) for leaf in leaves]


def _document(leaf: Any, encoder: Encoder) -> Any:
    if isinstance(leaf, (Resident, Reference)):
        return {"ref": leaf.id}
    if isinstance(leaf, Matrix):
        return encoder.leaf(leaf.value) if leaf.id is None else {"ref": leaf.id}
    return encoder.leaf(leaf)


def _leaves(documents: Sequence[Any], limits: CodecLimits) -> list[Any]:
    decoder = Decoder("float64", limits.array_bytes)
    for document in documents:  # one by one: a list of bare booleans would become one array
        decoder.value(document, ())
    return decoder.leaves
