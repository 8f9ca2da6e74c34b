"""Each verb against closed forms and SciPy's finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from app.compute.engine import Engine
from tests.compute.engine.calls import call

SCALED = "def f(a, x):\n    return jnp.sum(a * x ** 3)"
POINT = [0.5, -1.2, 2.0]


def test_evaluate_keeps_the_tree(engine: Engine) -> None:
    got = call(engine, "evaluate", 'lambda x: {"a": x, "b": (x + 1, None)}', [2.0])
    assert got == {"a": 2.0, "b": [3.0, None]}


def test_first_call_of_the_readme(engine: Engine) -> None:
    assert call(engine, "grad", "lambda x: x**2 + sin(x)", [3.0]) == 6 + np.cos(3.0)


def test_grad_is_scipys(engine: Engine) -> None:
    got = call(engine, "grad", "lambda x: jnp.sum(100*(x[1:]-x[:-1]**2)**2+(1-x[:-1])**2)", [POINT])
    np.testing.assert_allclose(got, scipy.optimize.rosen_der(np.array(POINT)), rtol=1e-13)


def test_hessian_is_scipys(engine: Engine) -> None:
    source = "lambda x: jnp.sum(100*(x[1:]-x[:-1]**2)**2+(1-x[:-1])**2)"
    got = call(engine, "hessian", source, [POINT])
    np.testing.assert_allclose(got, scipy.optimize.rosen_hess(np.array(POINT)), rtol=1e-13)


@pytest.mark.parametrize("many", [False, True])
def test_hvp_is_scipys(engine: Engine, many: bool) -> None:
    source = "lambda x: jnp.sum(100*(x[1:]-x[:-1]**2)**2+(1-x[:-1])**2)"
    vectors = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]])
    given = vectors.tolist() if many else vectors[0].tolist()
    got = call(engine, "hvp", source, [POINT], vectors=given, batch=many)
    wanted = vectors @ scipy.optimize.rosen_hess(np.array(POINT))
    np.testing.assert_allclose(got, wanted if many else wanted[0], rtol=1e-13)


@pytest.mark.parametrize(
    ("wrt", "wanted"),
    [
        (None, [1.0, 8.0]),
        (1, [6.0, 36.0]),
        ("x", [6.0, 36.0]),
        ([1], [[6.0, 36.0]]),
        (["x", 0], [[6.0, 36.0], [1.0, 8.0]]),
    ],
)
def test_wrt_by_position_and_name(engine: Engine, wrt: Any, wanted: Any) -> None:
    fields = {} if wrt is None else {"wrt": wrt}
    got = call(engine, "grad", SCALED, [[2.0, 3.0], [1.0, 2.0]], **fields)
    np.testing.assert_allclose(np.array(got), wanted)


def test_args_by_name(engine: Engine) -> None:
    got = call(engine, "grad", SCALED, {"x": [1.0, 2.0], "a": [2.0, 3.0]}, wrt="x")
    np.testing.assert_allclose(got, [6.0, 36.0])


def test_value_and_grad_of_a_pytree(engine: Engine) -> None:
    source = "lambda p, x: (p['w'] @ x + p['b'][0]) ** 2"
    args = [{"w": [1.0, 2.0], "b": [{"dtype": "float64", "shape": [], "data": [0.5]}]}, [3.0, 4.0]]
    got = call(engine, "value_and_grad", source, args)
    assert got["value"] == 11.5**2
    np.testing.assert_allclose(got["grad"]["w"], [2 * 11.5 * 3, 2 * 11.5 * 4])
    assert got["grad"]["b"] == [23.0]


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobian_in_each_mode(engine: Engine, mode: str) -> None:
    source = "lambda x, y: (x * y[0], jnp.sum(x) + y)"
    got = call(engine, "jacobian", source, [[1.0, 2.0], [3.0]], wrt=[0, 1], mode=mode)
    np.testing.assert_allclose(got[0][0], [[3.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(got[0][1], [[1.0], [2.0]])
    np.testing.assert_allclose(got[1][0], [[1.0, 1.0]])
    np.testing.assert_allclose(got[1][1], [[1.0]])


def test_hessian_in_two_arguments(engine: Engine) -> None:
    got = call(engine, "hessian", "lambda x, y: x ** 2 * y ** 3", [2.0, 3.0], wrt=["x", "y"])
    np.testing.assert_allclose(np.array(got), [[54.0, 108.0], [108.0, 72.0]])


@pytest.mark.parametrize(
    ("tangents", "wanted"),
    [([[1.0, 0.0], 1.0], 6.0), ({"y": 1.0}, 3.0), ({"x": [1.0, 1.0], "y": 0.0}, 6.0)],
)
def test_jvp(engine: Engine, tangents: Any, wanted: float) -> None:
    got = call(engine, "jvp", "lambda x, y: jnp.sum(x) * y", [[1.0, 2.0], 3.0], tangents=tangents)
    assert got == {"value": 9.0, "tangent": wanted}


def test_jvp_of_many(engine: Engine) -> None:
    tangents = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]
    got = call(engine, "jvp", "lambda x: x ** 2", [[1.0, 2.0]], tangents=tangents, batch=True)
    np.testing.assert_allclose(got["value"], [1.0, 4.0])
    np.testing.assert_allclose(got["tangent"], [[2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])


def test_vjp_gives_every_argument_and_null_for_integers(engine: Engine) -> None:
    args = [[1.0, 2.0], {"dtype": "int64", "shape": [], "data": [3]}]
    got = call(engine, "vjp", "lambda x, n: x * n", args, cotangents=[1.0, 10.0])
    np.testing.assert_allclose(got["cotangents"][0], [3.0, 30.0])
    assert got["cotangents"][1] is None


def test_a_record_is_an_object_of_its_fields_whose_directions_go_by_name(engine: Engine) -> None:
    source = """
class Pair(NamedTuple):
    second: float
    first: float

def f(x):
    return Pair(x * 2.0, x * x)
"""
    got = call(engine, "vjp", source, [3.0], cotangents={"first": 1.0, "second": 10.0})
    assert got["value"] == {"second": 6.0, "first": 9.0}
    assert np.ravel(got["cotangents"]) == [26.0]
    found = call(engine, "evaluate", "lambda x: solve.root(lambda t: t - x, 0.0, full=True)", [3.0])
    assert {"solution", "residual", "iterations", "success", "outcome"} <= set(found)
    assert found["solution"] == 3.0
    assert found["success"]


def test_vjp_of_many(engine: Engine) -> None:
    cotangents = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    fields = {"cotangents": cotangents, "batch": True, "wrt": "x"}
    got = call(engine, "vjp", "lambda x: x[::-1] * x", [[2.0, 3.0]], **fields)
    np.testing.assert_allclose(got["cotangents"], [[3.0, 2.0], [3.0, 2.0], [6.0, 4.0]])


def test_check_grads_tells_right_from_wrong(engine: Engine) -> None:
    right = call(engine, "check_grads", "lambda x: jnp.sum(sin(x) * x)", [POINT])
    assert right["passed"]
    assert right["max_rel_error"] < 1e-8
    np.testing.assert_allclose(right["ad"], np.sin(POINT) + POINT * np.cos(POINT), rtol=1e-13)
    stopped = "lambda x: jnp.sum(jax.lax.stop_gradient(x) * x)"
    wrong = call(engine, "check_grads", stopped, [POINT])
    assert not wrong["passed"]
    np.testing.assert_allclose(wrong["finite_differences"], 2 * np.array(POINT), rtol=1e-8)


def test_check_grads_of_second_order(engine: Engine) -> None:
    got = call(engine, "check_grads", "lambda x, y: x ** 3 * y", [2.0, 5.0], wrt=[0, 1], order=2)
    assert got["passed"]
    np.testing.assert_allclose(np.array(got["finite_differences"]), [[60, 12], [12, 0]], atol=1e-6)


def test_complex_follows_jax(engine: Engine) -> None:
    z = {"dtype": "complex128", "shape": [], "data": [1.0, 2.0]}
    assert call(engine, "grad", "lambda z: jnp.real(z * jnp.conj(z))", [z]) == 2 - 4j
    assert call(engine, "grad", "lambda z: z ** 3", [z], holomorphic=True) == 3 * (1 + 2j) ** 2


def test_static_values_are_not_arguments(engine: Engine) -> None:
    source = "def f(n, x):\n    y = x\n    for i in range(n):\n        y = y * x\n    return y"
    assert call(engine, "grad", source, [2.0], static={"n": 3}) == 32.0


def test_float32_does_not_leak(engine: Engine) -> None:
    single = call(engine, "grad", "lambda x: x ** 2 / 3", [1.1], dtype="float32")
    double = call(engine, "grad", "lambda x: x ** 2 / 3", [1.1])
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    assert double == pytest.approx(2.2 / 3, rel=1e-15)


def test_random_keys_come_back_as_their_data(engine: Engine) -> None:
    got = call(engine, "evaluate", "lambda x: jax.random.key(0)", [1.0])
    assert got.dtype == np.uint32
    assert got.shape == (2,)
