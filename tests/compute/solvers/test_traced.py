"""What ``trace`` remembers, against the iteration done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from app.core.errors import InvalidArgument
from tests.compute.solvers.solving import solve


def test_a_short_way_is_kept_whole_and_a_long_one_evenly() -> None:
    source = "lambda x, c: c * jnp.cos(x)"
    starts = {"trace": True, "method": "plain", "vmap": {"in_axes": [None, 0]}}
    found = solve("fixed_point", source, [1.0, [0.5, 0.999]], tol=1e-12, **starts)
    for factor, trace_x, count, iterations, end in zip(
        [0.5, 0.999],
        found["trace"]["x"][..., 0],
        found["trace"]["iteration"],
        found["statistics"]["iterations"],
        found["solution"],
        strict=True,
    ):
        by_hand = [1.0]
        for _ in range(iterations):
            by_hand.append(factor * np.cos(by_hand[-1]))
        assert np.allclose(trace_x, np.take(by_hand, count), rtol=0, atol=1e-14)
        assert (count[0], count[-1], trace_x[-1]) == (0, iterations, end)
        assert np.all(np.diff(count) >= 0)
    assert found["statistics"]["iterations"][0] < 60
    assert np.all(np.diff(found["trace"]["iteration"][0])[:15] == 1)


def test_a_way_longer_than_its_rows() -> None:
    found = solve("fixed_point", "lambda x: x + 1", [0.0], max_steps=1000, trace=True,
                  method="plain")  # fmt: skip
    assert not found["success"]
    count = found["trace"]["iteration"]
    assert np.array_equal(found["trace"]["x"][:, 0], count)
    assert np.array_equal(np.unique(np.diff(count[: 1000 // 8])), [8])
    assert count[-1] == 1000


def test_too_many_unknowns_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="16 unknowns"):
        solve("minimize", "lambda x: sum(x**2)", [[1.0] * 17], trace=True)
