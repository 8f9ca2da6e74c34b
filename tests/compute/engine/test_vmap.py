"""vmap around every verb: one program, many points, directions mapped with their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.compute.engine import Engine
from app.core.errors import InvalidArgument
from tests.compute.engine.calls import call

X = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_gradients_at_many_points(engine: Engine) -> None:
    got = call(engine, "grad", "lambda x, a: jnp.sum(a * x ** 3)", [X, 2.0],
               vmap={"in_axes": [0, None]})  # fmt: skip
    np.testing.assert_allclose(got, 6 * np.array(X) ** 2)


def test_in_axes_by_name_and_out_axes(engine: Engine) -> None:
    fields = {"vmap": {"in_axes": {"x": 1}, "out_axes": 1}}
    got = call(engine, "evaluate", "lambda x, a: a * x", [X, 2.0], **fields)
    np.testing.assert_allclose(got, 2 * np.array(X))


def test_hvp_with_a_vector_of_each_point_or_one_for_all(engine: Engine) -> None:
    source = "lambda x: jnp.sum(x ** 3)"
    own = call(engine, "hvp", source, [X], vmap={"in_axes": 0}, vectors=X)
    np.testing.assert_allclose(own, 6 * np.array(X) ** 2)
    shared = call(engine, "hvp", source, [X], vmap={"in_axes": 0}, vectors=[1.0, 0.0])
    np.testing.assert_allclose(shared, 6 * np.array(X) * [1.0, 0.0])


def test_vjp_takes_cotangents_like_the_mapped_result(engine: Engine) -> None:
    got = call(engine, "vjp", "lambda x: x[0] * x[1]", [X], vmap={"in_axes": 0}, wrt=0,
               cotangents=[1.0, 1.0, 2.0])  # fmt: skip
    np.testing.assert_allclose(got["cotangents"], [[2.0, 1.0], [4.0, 3.0], [12.0, 10.0]])


def test_batch_of_tangents_within_vmap(engine: Engine) -> None:
    tangents = [[[1.0, 1.0, 1.0], [2.0, 0.0, 1.0]]]
    got = call(engine, "jvp", "lambda x: x ** 2", [[1.0, 2.0, 3.0]], vmap={"in_axes": 0},
               tangents=tangents, batch=True)  # fmt: skip
    np.testing.assert_allclose(got["tangent"], [[2.0, 4.0], [4.0, 0.0], [6.0, 6.0]])


@pytest.mark.parametrize(
    ("args", "vmap", "words"),
    [
        ([2.0], {"in_axes": 0}, "no axis 0"),
        ([X], {"in_axes": [0, 0]}, "2 entries for 1"),
        ([X], {"in_axes": [None]}, "maps over no argument"),
        ([X], {"in_axes": {"y": 0}}, "not an argument"),
        ([X], {"axes": 0}, "in_axes and out_axes"),
        ([X], {"in_axes": "x"}, "neither an axis"),
    ],
)
def test_refusals_say_what_does_not_fit(
    engine: Engine, args: list[Any], vmap: Any, words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words) as refused:
        call(engine, "evaluate", "lambda x: x", args, vmap=vmap)
    assert refused.value.pointer is not None
    assert refused.value.pointer.startswith("/vmap")


def test_sizes_must_agree(engine: Engine) -> None:
    with pytest.raises(InvalidArgument, match="different sizes: 2, 3"):
        call(engine, "evaluate", "lambda x, y: x + y", [X, [1.0, 2.0]], vmap={"in_axes": [0, 0]})
