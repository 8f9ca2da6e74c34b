"""What the engine refuses, with a pointer and what to do instead; and the bounds on programs."""

from __future__ import annotations

from typing import Any

import pytest

from app.compute.engine import Engine
from app.compute.limits import EngineLimits
from app.compute.spec import ProgramSpec
from app.core.errors import InvalidArgument, LimitExceeded, ProblemError, RefusedSource
from app.core.values import Aval
from tests.compute.engine.calls import call, make_engine, spec_of

INTEGER = {"dtype": "int64", "shape": [], "data": [3]}


@pytest.mark.parametrize(
    ("verb", "source", "args", "fields", "pointer", "words"),
    [
        ("grad", "lambda x: x * 1.0", [INTEGER], {}, "/args/0", "floating-point"),
        ("grad", "lambda p: p['n'] * 1.0", [{"n": INTEGER}], {}, "/args/0/n", "floating-point"),
        ("grad", "lambda x: x * 2", [[1.0, 2.0]], {}, "/function", "returns shape"),
        ("grad", "lambda x: (x, x)", [1.0], {}, "/function", "2 arrays"),
        ("grad", "lambda x: x > 1", [1.0], {}, "/function", "bool"),
        ("grad", "lambda x: x + 1j", [1.0], {}, "/holomorphic", "complex"),
        ("grad", "lambda x: x", [1.0], {"holomorphic": True}, "/args/0", "complex input"),
        ("grad", "lambda x: x", [1.0], {"wrt": 1}, "/wrt", "none of the 1"),
        ("grad", "lambda x: x", [1.0], {"wrt": [0, "x"]}, "/wrt", "twice"),
        ("grad", "lambda x: x", [1.0], {"wrt": ["y"]}, "/wrt/0", "none of the 1"),
        ("grad", "lambda x: x", [1.0], {"mode": "auto"}, "/mode", "no field mode"),
        ("jacobian", "lambda x: x", [1.0], {"mode": "up"}, "/mode", "unknown"),
        ("evaluate", "lambda x: x", [], {}, "/args", "no value was given for x"),
        ("evaluate", "lambda x: x", [1.0, 2.0], {}, "/args/1", "takes 1"),
        ("evaluate", "lambda x: x", {"y": 1.0}, {}, "/args/y", "no parameter 'y'"),
        ("evaluate", "lambda x: x", [1.0], {"static": {"n": 1}}, "/static/n", "no parameter"),
        ("jvp", "lambda x: x", [1.0], {}, "/tangents", "needs tangents"),
        ("jvp", "lambda x: x * 2", [[1.0, 2.0]], {"tangents": [[1.0, 2.0, 3.0]]}, "/tangents",
         "shape"),
        ("vjp", "lambda x: x * 2", [[1.0, 2.0]], {"cotangents": 1.0}, "/cotangents", "shape"),
        ("hvp", "lambda x: x ** 2", [1.0], {"vectors": 1.0, "batch": True}, "/vectors", "leading"),
        ("evaluate", "lambda x: x", [1.0], {"vectors": 1.0}, "/vectors", "takes no vectors"),
        ("check_grads", "lambda x: x", [1.0], {"order": 3}, "/order", "neither 1 nor 2"),
        ("check_grads", "lambda x: x", [1.0], {"eps": -1.0}, "/eps", "positive"),
    ],
)  # fmt: skip
def test_refused(
    engine: Engine, verb: str, source: str, args: Any, fields: Any, pointer: str, words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words) as refused:
        call(engine, verb, source, args, **fields)
    assert refused.value.pointer == pointer


def test_a_vector_valued_grad_points_to_jacobian(engine: Engine) -> None:
    with pytest.raises(InvalidArgument) as refused:
        call(engine, "grad", "lambda x: x * 2", [[1.0, 2.0]])
    assert "use jacobian" in str(refused.value.hint)


@pytest.mark.parametrize(
    "source", ["lambda x: None", 'lambda x: "text"', "lambda x: sin", "lambda x: [x, lambda y: y]"]
)
def test_results_that_are_no_arrays(engine: Engine, source: str) -> None:
    with pytest.raises(ProblemError) as refused:
        call(engine, "evaluate", source, [1.0])
    assert refused.value.status == 422


def test_reverse_mode_through_an_unbounded_loop(engine: Engine) -> None:
    source = "lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * 2, x)"
    with pytest.raises(RefusedSource, match="Reverse-mode") as refused:
        call(engine, "grad", source, [1.0])
    assert "scan" in str(refused.value.hint)


def test_array_bytes_are_bounded_before_anything_is_allocated(engine: Engine) -> None:
    with pytest.raises(ProblemError, match=r"100000|bytes") as refused:
        call(engine, "evaluate", "lambda x: jnp.sum(x * jnp.ones((100000, 100000)))", [1.0])
    assert refused.value.status == 422


@pytest.mark.parametrize(
    ("limits", "source", "words"),
    [
        ({"equations": 5}, "lambda x: sin(sin(sin(sin(sin(sin(x))))))", "more than 5"),
        ({"operands": 3}, "lambda x: jnp.stack([x, x, x, x])", "4 operands"),
        ({"array_bytes": 100}, "lambda x: jnp.sum(jnp.arange(50.0) * x)", "50 float64"),
        ({"output_bytes": 100}, "lambda x: jnp.arange(50.0) * x", "400 bytes"),
        ({"output_leaves": 2}, "lambda x: [x, x, x]", "3 arrays"),
        ({"program_bytes": 100}, "lambda x: jnp.sort(jnp.arange(50.0) * x)", "the program needs"),
        ({"equations": 30}, "lambda x: lax.fori_loop(0, 3, lambda i, c: sum([sin(c + k) for k in"
         " range(20)]), x)", "more than 30"),
    ],
)  # fmt: skip
def test_limits(limits: dict[str, int], source: str, words: str) -> None:
    with pytest.raises(LimitExceeded, match=words):
        call(make_engine(**limits), "evaluate", source, [1.0])


def test_a_limit_names_the_line() -> None:
    source = "def f(x):\n    y = x + 1\n    return jnp.sum(jnp.arange(50.0) * y)"
    with pytest.raises(LimitExceeded) as refused:
        call(make_engine(array_bytes=100), "evaluate", source, [1.0])
    assert refused.value.line == 3


def test_a_wrong_shape_at_run_time_is_refused(engine: Engine) -> None:
    spec, leaves = spec_of("evaluate", {"function": "lambda x: x * 2", "args": [[1.0, 2.0]]})
    program = engine.build(engine.lower(spec))
    with pytest.raises(InvalidArgument, match="shape"):
        engine.run(program, [leaves[0][:1]])
    with pytest.raises(InvalidArgument, match="complex128"):
        engine.run(program, [leaves[0].astype("complex128")])


SCAN = "def f(x):\n    kept = []\n    lax.scan(lambda c, y: (c, kept.append(y)), 0.0, x)\n"
LOOP = (
    "def f(x):\n    kept = {}\n    def body(i, c):\n        kept['c'] = c\n        return c + 1\n"
)
LOOP += "    lax.fori_loop(0, 3, body, x)\n"
GRAD = (
    "def f(x):\n    kept = []\n    def g(y):\n        kept.append(y)\n        return jnp.sum(y)\n"
)
GRAD += "    jax.grad(g)(x)\n"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (SCAN + "    return jnp.sin(kept[0] * 2)", 4),
        (SCAN + "    return kept[0]", None),
        (SCAN + "    return lax.map(lambda y: y * kept[0], x)", 4),
        (LOOP + "    return x * kept['c']", 7),
        (GRAD + "    return x + kept[0]", 7),
        (GRAD + "    return jax.jit(lambda y: y * kept[0])(x)", 7),
        ("def f(x):\n    kept = []\n    jax.vmap(kept.append)(x)\n    return x[0] * kept[0]", 4),
    ],
)
def test_values_carried_out_of_an_inner_function_are_refused(
    engine: Engine, source: str, line: int | None
) -> None:
    with pytest.raises(RefusedSource, match="outside the transformed function") as caught:
        call(engine, "evaluate", source, [[1.0, 2.0]])
    assert caught.value.line == line
    assert caught.value.hint


@pytest.mark.parametrize("verb", ["grad", "value_and_grad", "hessian", "jacobian", "check_grads"])
def test_a_function_without_arguments_has_no_derivative(engine: Engine, verb: str) -> None:
    with pytest.raises(InvalidArgument, match="no argument to differentiate in") as caught:
        call(engine, verb, "lambda: 1.0", [])
    assert caught.value.pointer == "/args"


@pytest.mark.parametrize("axis", [3, -4])
def test_out_axes_that_no_result_has_are_pointed_at(axis: int) -> None:
    options = {"vmap": {"in_axes": 0, "out_axes": axis}}
    spec = ProgramSpec(
        "lambda x: 2 * x", None, "evaluate", {"args": [0]}, (Aval("float64", (3, 2)),), options
    )
    with pytest.raises(InvalidArgument) as caught:
        Engine(EngineLimits()).lower(spec)
    assert caught.value.pointer == "/vmap/out_axes"
