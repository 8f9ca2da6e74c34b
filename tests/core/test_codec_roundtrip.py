"""Decode of encode is the identity: every dtype, every layout of the wire, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from app.core.codec.calls import CodecLimits, decode_body, decode_value, encode_body
from app.core.codec.documents import dump
from app.core.errors import ProblemError
from app.core.values import DTYPES, SparseValue

LIMITS = CodecLimits()
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def arrays(name: str) -> st.SearchStrategy[np.ndarray]:
    """Arrays of any bit pattern: NaN payloads aside, every value of the type can come."""
    dtype = DTYPES[name]
    if name == "bool":
        return hnp.arrays(np.bool_, SHAPES)
    raw = np.dtype(f"u{dtype.itemsize}") if dtype.itemsize <= 8 else np.dtype("u8")
    pair = dtype.itemsize // raw.itemsize

    def view(bits: np.ndarray) -> np.ndarray:
        flat = bits.reshape(-1)
        return flat.view(dtype).reshape(bits.shape[:-1])

    return SHAPES.flatmap(lambda shape: hnp.arrays(raw, (*shape, pair)).map(view))


def same(mine: np.ndarray, other: np.ndarray) -> bool:
    """Same dtype, shape and bits; any NaN equals any NaN, for JSON has but one."""
    if mine.dtype != other.dtype or mine.shape != other.shape:
        return False
    if mine.dtype.kind in "biu":
        return bool((mine == other).all())
    if mine.dtype.kind == "c":
        part = np.float64 if mine.dtype.itemsize == 16 else np.float32
        split = [np.ascontiguousarray(a).reshape(-1).view(part) for a in (mine, other)]
        return same(*split)
    with np.errstate(invalid="ignore"):  # signalling not-a-numbers are among the bits
        wide, also = mine.astype(np.float64), other.astype(np.float64)
    missing = np.isnan(wide)
    bits = wide.view(np.uint64) == also.view(np.uint64)
    return bool((missing == np.isnan(also)).all() and (bits | missing).all())


def roundtrip(value: Any, media: Any, dtype: str, encoding: Any = "json") -> Any:
    body = encode_body({}, {"args": [0]}, [value], media, dtype, encoding)
    decoded = decode_body(body, media, LIMITS, dtype=dtype)
    assert decoded.inputs == {"args": [0]}
    return decoded.leaves[0]


@pytest.mark.parametrize("encoding", ["json", "base64", "msgpack"])
@pytest.mark.parametrize("name", sorted(DTYPES))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_dense_values_survive(name: str, encoding: str, data: st.DataObject) -> None:
    value = data.draw(arrays(name))
    media = "msgpack" if encoding == "msgpack" else "json"
    wire = "json" if encoding == "msgpack" else encoding
    for float_type in ("float64", "float32"):
        back = roundtrip(value, media, float_type, wire)
        assert same(back, value)


@pytest.mark.parametrize("media", ["json", "msgpack"])
def test_sparse_values_survive(media: Any) -> None:
    value = SparseValue(
        "coo",
        (3, 4),
        {
            "row": np.array([2, 0], np.int32),
            "col": np.array([1, 3], np.int32),
            "values": np.array([np.nan, -0.0]),
        },
    )
    back = roundtrip(value, media, "float64")
    assert (back.layout, back.shape) == (value.layout, value.shape)
    assert all(
        same(back.parts[name].astype(part.dtype), part) for name, part in value.parts.items()
    )


def test_bare_numbers_keep_17_digits_subnormals_and_the_sign_of_zero() -> None:
    numbers = [0.1 + 0.2, 5e-324, -0.0, 1.7976931348623157e308, 2.2250738585072011e-308]
    back = roundtrip(np.array(numbers), "json", "float64")
    assert [x.hex() for x in back.tolist()] == [x.hex() for x in numbers]


def test_integers_beyond_2_to_53_are_exact() -> None:
    numbers = [2**63 - 1, -(2**63), 2**53 + 1]
    assert roundtrip(np.array(numbers), "json", "float64").tolist() == numbers
    unsigned = np.array([2**64 - 1], np.uint64)
    assert roundtrip(unsigned, "json", "float64").tolist() == [2**64 - 1]


@settings(max_examples=60, deadline=None)
@given(
    tree=st.recursive(
        st.floats(width=64) | st.booleans() | st.none(),
        lambda deeper: st.dictionaries(
            st.text(min_size=1, max_size=5).filter(lambda s: s not in RESERVED), deeper, max_size=3
        ),
        max_leaves=8,
    )
)
def test_pytrees_survive(tree: Any) -> None:
    body = dump({"args": [_jsonable(tree)]}, "json")
    decoded = decode_body(body, "json", LIMITS)
    again = encode_body({}, {"args": decoded.inputs["args"]}, decoded.leaves, "json", "float64")
    assert decode_body(again, "json", LIMITS).inputs == decoded.inputs


RESERVED = {"ref", "layout", "dtype", "shape", "data"}


def _jsonable(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _jsonable(branch) for name, branch in tree.items()}
    if isinstance(tree, float) and not np.isfinite(tree):
        return "NaN" if tree != tree else "Infinity" if tree > 0 else "-Infinity"
    return tree


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_problem(body: bytes) -> None:
    for media in ("json", "msgpack"):
        statuses = []
        try:
            decode_value(body, media, LIMITS)
        except ProblemError as problem:
            statuses.append(problem.status)
        assert set(statuses) <= {413, 422}
