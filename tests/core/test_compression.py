"""Compressed bodies unpack to what went in, and no bomb is ever held."""

from __future__ import annotations

import gzip
import zlib

import pytest
import zstandard

from app.core.codec.compression import decompress
from app.core.errors import InvalidBody, TooLarge, UnsupportedMediaType

BODY = b'{"args": [1.0]}' * 100


@pytest.mark.parametrize(
    ("packed", "names"),
    [
        (gzip.compress(BODY), "gzip"),
        (gzip.compress(BODY[:700]) + gzip.compress(BODY[700:]), "gzip"),
        (zlib.compress(BODY), "deflate"),
        (zstandard.compress(BODY), "zstd"),
        (gzip.compress(zstandard.compress(BODY)), "zstd, gzip"),
        (BODY, "identity"),
    ],
)
def test_known_encodings(packed: bytes, names: str) -> None:
    assert decompress(packed, names, 10_000) == BODY


@pytest.mark.parametrize("names", ["gzip", "deflate", "zstd"])
def test_broken_streams(names: str) -> None:
    with pytest.raises(InvalidBody):
        decompress(b"\x00\x01\x02not compressed", names, 10_000)


@pytest.mark.parametrize(
    ("packed", "names"),
    [(gzip.compress(BODY)[:-9], "gzip"), (zstandard.compress(BODY)[:-5], "zstd")],
)
def test_cut_streams(packed: bytes, names: str) -> None:
    with pytest.raises(InvalidBody):
        decompress(packed, names, 10_000)


@pytest.mark.parametrize("names", ["gzip", "deflate", "zstd"])
def test_bombs_stop_at_the_limit(names: str) -> None:
    zeros = bytes(64 << 20)
    packed = {
        "gzip": gzip.compress(zeros),
        "deflate": zlib.compress(zeros),
        "zstd": zstandard.compress(zeros),
    }[names]
    with pytest.raises(TooLarge):
        decompress(packed, names, 1 << 20)


@pytest.mark.parametrize("names", ["br", "gzip, gzip, gzip"])
def test_other_encodings(names: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        decompress(BODY, names, 10_000)
