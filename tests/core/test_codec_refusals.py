"""What the codec refuses, where it says the fault is, and what it takes for what."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from app.core.codec.calls import CodecLimits, decode_body
from app.core.codec.documents import dump
from app.core.codec.encode import Encoder
from app.core.errors import ProblemError

LIMITS = CodecLimits(array_bytes=1 << 20)


def decode(args: str, **options: Any) -> list[Any]:
    return decode_body(b'{"args": ' + args.encode() + b"}", "json", LIMITS, **options).leaves


@pytest.mark.parametrize(
    ("args", "pointer", "said"),
    [
        ('[[1, "2", true, null]]', "/args/0/1", "mixes kinds"),
        ("[[true, 1.5]]", "/args/0/1", "mixes kinds"),
        ("[[1, null]]", "/args/0/1", "null"),
        ("[[[1, 2], [3]]]", "/args/0/1", "ragged"),
        ('["Nan"]', "/args/0", "not a number"),
        ('[[[1.0, "inf"]]]', "/args/0/0/1", "not a number"),
        ("3", "/args", "list by position"),
        ('[{"dtype": "O", "data": [1]}]', "/args/0/dtype", "No dtype"),
        ('[{"dtype": "int64", "data": [9223372036854775808]}]', "/args/0/data/0", "range"),
        ('[{"dtype": "uint8", "data": [1, -1]}]', "/args/0/data/1", "range"),
        ('[{"dtype": "int32", "data": [1.5]}]', "/args/0/data/0", "not an integer"),
        ('[{"dtype": "bool", "data": [2]}]', "/args/0/data/0", "not a bool"),
        ('[{"dtype": "float32", "data": [1e39]}]', "/args/0/data/0", "range"),
        ('[{"dtype": "float64", "shape": [2], "data": [1]}]', "/args/0/data", "do not fill"),
        ('[{"dtype": "float64", "shape": [2], "base64": "AAAA"}]', "/args/0/base64", "do not fill"),
        ('[{"dtype": "float64", "shape": [1], "base64": "!"}]', "/args/0/base64", "base64"),
        ('[{"dtype": "float64", "shape": [-1], "data": []}]', "/args/0/shape", "negative"),
        ('[{"dtype": "float64", "shape": [1], "order": "F", "data": [1]}]', "/args/0/order", "no"),
        ('[{"dtype": "bool", "shape": [1], "base64": "Ag=="}]', "/args/0/base64", "bool"),
        ('[{"ref": 3}]', "/args/0/ref", "reference"),
        ('[{"layout": "csr", "shape": [2, 2], "indptr": [0]}]', "/args/0", "missing"),
        ('[{"layout": "wide", "shape": [2, 2]}]', "/args/0/layout", "No layout"),
        (
            '[{"dtype": "int64", "shape": [4294967296, 4294967296], "data": []}]',
            "/args/0/shape",
            "",
        ),
        (
            '[{"dtype": "int64", "shape": [1000000000, 1000000000, 0], "data": []}]',
            "/args/0/shape",
            "past the limit",
        ),
    ],
)
def test_the_pointer_finds_the_fault(args: str, pointer: str, said: str) -> None:
    with pytest.raises(ProblemError) as caught:
        decode(args)
    assert caught.value.pointer == pointer
    assert said in caught.value.detail


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[1,2]",
        b"{",
        b'{"args": [NaN]}',
        b'{"args": [1e400]}',
        b"\xff\xfe{",
        b'{"a": "\\ud800"}',
    ],
)
def test_unreadable_bodies(body: bytes) -> None:
    with pytest.raises(ProblemError) as caught:
        decode_body(body, "json", LIMITS)
    assert caught.value.status == 422


@pytest.mark.parametrize("depth", [65, 1000, 100_000])
@pytest.mark.parametrize("media", ["json", "msgpack"])
def test_deep_bodies(depth: int, media: Any) -> None:
    body = b"[" * depth + b"]" * depth if media == "json" else b"\x91" * depth + b"\x01"
    with pytest.raises(ProblemError):
        decode_body(body, media, LIMITS)


def test_float32_mode_refuses_what_would_overflow() -> None:
    with pytest.raises(ProblemError) as caught:
        decode("[[1.0, 1e300]]", dtype="float32")
    assert caught.value.pointer == "/args/0/1"


def test_negative_zero_keeps_its_sign_and_strings_are_left_alone() -> None:
    body = b'{"function": "x[-0]", "args": [-0, [-0,-0 ]]}'
    decoded = decode_body(body, "json", LIMITS)
    assert decoded.fields["function"] == "x[-0]"
    assert all(np.signbit(leaf).all() for leaf in decoded.leaves)


def test_integers_and_floats_are_one_type() -> None:
    for args in ("[3]", "[3.0]"):
        assert decode(args)[0].dtype == np.float64


def test_lists_of_arrays_of_different_rank_are_lists() -> None:
    decoded = decode_body(b'{"args": [[[[1, 2], [3, 4]], [5, 6], 7]]}', "json", LIMITS)
    assert decoded.inputs == {"args": [[0, 1, 2]]}
    assert [leaf.shape for leaf in decoded.leaves] == [(2, 2), (2,), ()]


def test_empty_lists_keep_their_shape() -> None:
    assert [leaf.shape for leaf in decode("[[], [[], []]]")] == [(0,), (2, 0)]


def test_a_byte_order_mark_is_passed_over() -> None:
    assert decode_body(b'\xef\xbb\xbf{"args": [1]}', "json", LIMITS).leaves[0] == 1.0


def test_fortran_order_results_are_written_row_major() -> None:
    value = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    assert json.loads(dump(Encoder("json", "float64").leaf(value), "json")) == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("[NaN]", "Infinity"),
        ("[-Infinity]", "Infinity"),
        ("[1e400]", "Infinity"),
        ("[None, 1]", "null"),
        ("[True]", "true"),
        ("['x']", "double quotes"),
        ("[" * 2000, "Nest less"),
        ("[1, 2", "Send JSON like"),
        ("[1,, 2]", "Send JSON like"),
    ],
)
def test_broken_json_is_told_by_the_mistake_that_was_made(body: str, hint: str) -> None:
    with pytest.raises(ProblemError) as caught:
        decode(body)
    assert caught.value.slug == "invalid-body"
    assert hint in (caught.value.hint or "")
