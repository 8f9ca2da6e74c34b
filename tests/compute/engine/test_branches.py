"""What a where discards leaves no trace in a derivative; what it keeps is untouched."""

from __future__ import annotations

import numpy as np
import pytest

from app.compute.engine import Engine
from tests.compute.engine.calls import call


@pytest.mark.parametrize(
    ("expression", "points", "wanted"),
    [
        ("jnp.where(x > 0, jnp.log(x), 0.0)", [0.0, -1.0, 2.0], [0.0, 0.0, 0.5]),
        ("jnp.where(x > 0, jnp.sqrt(x), x)", [0.0, -1.0, 4.0], [1.0, 1.0, 0.25]),
        ("jnp.where(x == 0, 1.0, jnp.sin(x) / x)", [0.0], [0.0]),
        ("jnp.where(x < 100, jnp.exp(x), 7.0)", [1000.0, 0.0], [0.0, 1.0]),
        ("jnp.where(x > 0, x * jnp.log(x / 2), 0.0)", [0.0, 2.0], [0.0, 1.0]),
        ("jnp.where(x > 0, x ** 0.5, -((-x) ** 0.5))", [4.0, -4.0], [0.25, 0.25]),
        ("jnp.where(x > 0, jnp.where(x < 1, jnp.log(x), 3 * x), 0.0)", [-1.0, 0.5, 2.0],
         [0.0, 2.0, 3.0]),
        ("lax.select(x > 0, 1 / x, x)", [0.0, 2.0], [1.0, -0.25]),
        ("jnp.where(x > 0, jnp.arccosh(1 + x), 0.0)", [-5.0, 1.0], [0.0, 1 / np.sqrt(3.0)]),
    ],
)  # fmt: skip
def test_discarded_branch(
    engine: Engine, expression: str, points: list[float], wanted: list[float]
) -> None:
    source = f"lambda x: jnp.sum({expression})"
    np.testing.assert_allclose(call(engine, "grad", source, [points]), wanted, rtol=1e-14)


def test_a_condition_written_after_the_branch(engine: Engine) -> None:
    source = (
        "def f(x):\n    y = jnp.log(x)\n    z = x > 0\n    return jnp.sum(jnp.where(z, y, 0.0))"
    )
    np.testing.assert_allclose(call(engine, "grad", source, [[0.0, 2.0]]), [0.0, 0.5])


def test_a_condition_on_the_branch_itself_is_left_alone(engine: Engine) -> None:
    source = "def f(x):\n    y = jnp.log(x)\n    return jnp.sum(jnp.where(jnp.isfinite(y), y, 0.0))"
    got = call(engine, "value_and_grad", source, [[1.0, 2.0]])
    np.testing.assert_allclose(got["grad"], [1.0, 0.5])


def test_a_result_used_elsewhere_is_left_alone(engine: Engine) -> None:
    source = "def f(x):\n    y = jnp.sqrt(x)\n    return jnp.sum(jnp.where(x > 1, y, 0.0) + 2 * y)"
    np.testing.assert_allclose(call(engine, "grad", source, [[0.25, 4.0]]), [2.0, 0.75])
    assert call(engine, "grad", source, [[0.0]])[0] == np.inf


def test_second_derivatives_and_vmap(engine: Engine) -> None:
    source = "lambda x: jnp.where(x > 0, x * jnp.log(x), 0.0)"
    got = call(engine, "hessian", source, [[-1.0, 0.0, 4.0]], vmap={"in_axes": 0})
    np.testing.assert_allclose(got, [0.0, 0.0, 0.25])
    jvp = call(engine, "jvp", source, [[0.0, 1.0]], vmap={"in_axes": 0}, tangents=[[1.0, 1.0]])
    np.testing.assert_allclose(jvp["tangent"], [0.0, 1.0])


def test_lines_survive(engine: Engine) -> None:
    from tests.compute.engine.calls import spec_of

    source = "def f(x):\n    y = jnp.log(x)\n    return jnp.sum(jnp.where(x > 0, y, 0.0))"
    spec, _ = spec_of("grad", {"function": source, "args": [[1.0, 2.0]]})
    found = engine.ir(spec, "jaxpr")
    roles = {(entry["source"][0], entry["role"]) for entry in found["lines"]}
    assert {(2, "cotangent"), (3, "cotangent")} <= roles
