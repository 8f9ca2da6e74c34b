"""A whole request body to its parts: plain fields, and the inputs as structures over leaves.

This is the heavy half of a request: it runs in the event loop for small bodies and in a codec
process for large ones, so it must stay picklable and free of any other state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.core.codec.decode import Decoder
from app.core.codec.documents import Media, dump, parse
from app.core.codec.encode import Encoder, Encoding
from app.core.codec.numbers import refuse
from app.core.errors import InvalidBody
from app.core.values import Structure, unflatten

BY_PARAMETER = ("args", "tangents")
"""Groups that hold one value a parameter: a list by position or an object by name."""
BY_VALUE = ("cotangents", "vectors")
"""Groups that are one value, with the tree of the result or of ``wrt``."""
WHOLE = ("seed",)
"""Groups that are one whole number, where they are sent as a bare one."""
FLOATS = ("float64", "float32")


@dataclass(frozen=True, slots=True)
class CodecLimits:
    """Bounds on what one body may hold, in bytes and levels."""

    array_bytes: int = 1 << 30
    nesting: int = 64


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """``fields`` as the client sent them, less the inputs; ``inputs`` by group over ``leaves``."""

    fields: dict[str, Any]
    inputs: dict[str, Structure]
    leaves: list[Any]


def decode_body(
    body: bytes,
    media: Media,
    limits: CodecLimits,
    *,
    dtype: str | None = None,
    abstract: bool = False,
    own: tuple[str, ...] = (),
) -> DecodedBody:
    """Parse a call's body; raises InvalidBody, InvalidArgument or TooLarge with a pointer.

    ``dtype`` is what bare numbers become, where the body itself has no say. ``own`` names the
    verb's further inputs: values that do not shape its program.
    """
    fields = parse(body, media, limits.nesting)
    if type(fields) is not dict:
        raise InvalidBody(
            "The body is not an object",
            hint='Send {"function": "lambda x: x**2", "args": [3.0]}',
        )
    decoder = Decoder(dtype or _float_type(fields), limits.array_bytes, abstract)
    inputs: dict[str, Structure] = {}
    for group in (*BY_PARAMETER, *BY_VALUE, *own):
        document = fields.pop(group, None)
        if document is not None:
            by_parameter = group in BY_PARAMETER
            if group in WHOLE and type(document) is int:
                document = _whole(document, group)
            read = decoder.parameters if by_parameter else decoder.value
            inputs[group] = read(document, (group,))
    return DecodedBody(fields, inputs, decoder.leaves)


def _whole(number: int, group: str) -> dict[str, Any]:
    """A bare whole number as a typed value: it would become a real one else."""
    if not 0 <= number < 2**31:
        refuse((group,), f"{group} is a whole number from 0 to {2**31 - 1}")
    return {"dtype": "int32", "shape": [], "data": number}


def _float_type(fields: dict[str, Any]) -> str:
    """What bare numbers become; a wrong ``dtype`` field is refused later, with the others."""
    dtype = fields.get("dtype")
    return dtype if dtype in FLOATS else FLOATS[0]


def decode_value(body: bytes, media: Media, limits: CodecLimits) -> DecodedBody:
    """Parse a body that is one value: ``inputs["value"]`` over ``leaves``."""
    decoder = Decoder(FLOATS[0], limits.array_bytes)
    structure = decoder.value(parse(body, media, limits.nesting), ())
    return DecodedBody({}, {"value": structure}, decoder.leaves)


def encode_body(
    fields: dict[str, Any],
    results: dict[str, Structure],
    leaves: list[Any],
    media: Media,
    dtype: str,
    encoding: Encoding = "json",
) -> bytes:
    """The bytes of an answer: each of ``results`` as a value, then the plain ``fields``."""
    encoder = Encoder(media, dtype, encoding)
    encoded = [encoder.leaf(leaf) for leaf in leaves]
    document = {name: unflatten(structure, encoded) for name, structure in results.items()}
    return dump({**document, **fields}, media)
