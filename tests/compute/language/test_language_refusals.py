"""Refusals point at a line and column and say what to write instead."""

from __future__ import annotations

import traceback

import jax
import numpy as np
import pytest
from structlog.testing import capture_logs

from app.compute.language import Limits, parse
from app.core.errors import LimitExceeded, ProblemError, RefusedSource

X = jax.ShapeDtypeStruct((3,), np.dtype("float64"))

# source: line, column, words of the message, words of the hint
REFUSED = {
    "def f(x):\n    return __import__('os').getpid() + x": (2, 12, "not allowed", ""),
    "def f(x):\n    return x + len(().__class__.__base__)": (2, 20, "not allowed", ""),
    "def f(x):\n    return jax.pure_callback(lambda v: v, x, x)": (2, 12, "not allowed", ""),
    "def f(x):\n    return jnp.linalg.linalg.np.os.getpid()": (2, 12, "not allowed", ""),
    "def f(x, y=print('hi')):\n    return x": (1, 1, "not allowed", "None"),
    "def f(x):\n    return math.prod(range(1, 10**9)) * x": (2, 12, "more than 10000", "lax.scan"),
    "def f(x):\n    return jnp.stack(range(10**9)) * x": (2, 12, "more than 10000", "jnp.arange"),
    "def f(x):\n    return jnp.array(range(10**30)) * x": (2, 28, "more than 64 bits", "float"),
    "lambda x: jnp.zeros((10**9, 10**9, 0)).sum() + x": (1, 11, "needs", "lax.scan"),
    "def f(x):\n    return open('a')": (2, 12, "not allowed", "send what it would have fetched"),
    "def f(x):\n    return 'a'.format(x)": (2, 12, "attribute format of a text", "it has"),
    "def f(x):\n    return str(x.shape)": (1, 1, "holds a text", "return a number"),
    "def f(x):\n    return 1 / 0 + x": (2, 12, "divided by zero", "jnp.inf"),
    "import os\ndef f(x):\n    return x": (1, 8, "not allowed", ""),
    "def f(x):\n    x[0] = 1.0\n    return x": (2, 5, "not allowed", "x.at[0].set("),
    "def f(x):\n    x[0] += 1.0\n    return x": (2, 5, "not allowed", "x.at[0].add("),
    "def f(x):\n    y = x * 2": (1, 1, "returns nothing", "return"),
    "def f(x):\n    if x[0] > 0:\n        return x\n    return -x": (2, 8, "traced", "jnp.where"),
    "def f(x):\n    return x if x[0] > 0 else -x": (2, 17, "traced", "lax.cond"),
    "def f(x):\n    return 0 < x[0] < 3": (2, 12, "chain", "(a < b) & (b < c)"),
    "def f(x):\n    return x[x > 0]": (2, 12, "depends on values", "jnp.where"),
    "def f(x):\n    return jnp.unique(x)": (2, 12, "needed", "size="),
    "def f(x):\n    return jnp.zeros(x[0])": (2, 12, "needed", "static"),
    "def f(x):\n    return x[x[0].astype(int):]": (2, 12, "needed", "dynamic_slice"),
    "def f(x):\n    for i in range(x[0]):\n        pass": (2, 14, "range", "fori_loop"),
    "def f(x, x):\n    return x": (1, 10, "named twice", "a name of its own"),
    "def f(x):\n    return jax.vmap(lambda a, *, a=1: a)(x)": (2, 34, "named twice", ""),
    "def f(x):\n    return ssin(x)": (2, 12, "not defined", "sin"),
    "def f(x):\n    return jnp.sinn(x)": (2, 12, "not allowed", "did you mean sin"),
    "def f(x):\n    return math.sin(x)": (2, 12, "static", "jnp.sin"),
    "def f(x):\n    return max(x[0], 1.0)": (2, 12, "max", "jnp.maximum"),
    "def f(x):\n    return any(x > 0)": (2, 12, "any", "jnp.any"),
    "def f(x):\n    return sorted(x)": (2, 12, "sorted", "jnp.sort"),
    "def f(x):\n    return x[5]": (2, 12, "index 5 is out of bounds", ""),
    "def f(x):\n    return x + jnp.ones(4)": (2, 12, "(3,), (4,)", ""),
    "def f(x):\n    return x + [1, 2, 3]": (2, 12, "no meaning", "jnp.array"),
    "def f(x):\n    return np.random.normal()": (2, 12, "not allowed", ""),
    "def f(x):\n    raise ValueError(f'unknown {1}')": (2, 5, "unknown 1", ""),
    "def f(x):\n    return jax.grad(jnp.sum(x))(x)": (2, 12, "function first", "jax.grad(f)(x)"),
    "def f(x):\n    try:\n        return x\n    except E:\n        pass": (
        2,
        5,
        "try",
        "jnp.where",
    ),
    "def f(x):\n    with x:\n        pass": (2, 5, "with is not allowed", ""),
    "def f(x):\n    p.w = 1\n    return x": (2, 5, "not allowed", "_replace"),
    "def f(x):\n    g = (i for i in x)\n    return g": (2, 9, "generator", "[… for"),
    "def f(x):\n    y = c + x\n    c = 2\n    return y": (2, 9, "before it has a value", "local"),
    "def f(x):\n    return jnp.zeros(3, dtype='O')": (2, 12, "not allowed", "float32"),
    "def f(x):\n    return jnp.zeros(3, [('a', 'f4')])": (2, 12, "not allowed", "float32"),
    "def f(x):\n    return jnp.array(x, device='cpu')": (2, 12, "not allowed", ""),
    "def f(x):\n    return x.at[1].get(mode='promise_in_bounds')": (2, 12, "not allowed", "clip"),
    "def f(x):\n    return x.tolist()": (2, 12, "not allowed", "array itself"),
    "def f(x):\n    return {'rate': x}['rte']": (2, 12, "no key", "rate"),
    "def f(x):\n    return jnp.linalg.inv(x": (2, 26, "never closed", ""),
    "def f(x):\n    return x\0": (2, 13, "U+0000", "remove"),
    "def f(x):\n    return " + "(" * 5000 + "x" + ")" * 5000: (2, 76, "brackets", "name"),
    "y = x**2": (1, 1, "no function", "right-hand side"),
    "f(x) = x^2": (1, 1, "not Python", "right-hand side"),
    "2*(x+1)(x-1)": (1, 3, "not a function", "*"),
    "x^2 + x^2 + foo(x)": (1, 13, "not defined", ""),
    "    def f(x):\n        return zz": (2, 16, "not defined", ""),
    "def f(é, x):\n    return 'é' + é + zz": (2, 22, "not defined", ""),
}


def trace(source: str) -> None:
    function = parse(source)
    jax.eval_shape(function.bind(), *[X] * len(function.parameters))


@pytest.mark.parametrize("source", REFUSED)
def test_refusal_says_where_and_what_instead(source):
    line, column, message, hint = REFUSED[source]
    with jax.enable_x64(True), pytest.raises(ProblemError) as caught:
        trace(source)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert message in error.detail
    assert hint in (error.hint or "")


def test_two_leading_underscores_are_found_after_normalisation():
    with pytest.raises(ProblemError, match="not allowed"):
        parse("def f(x):\n    return x.__ｃlass__\n")


LIMITED = {
    "def f(x):\n    while True:\n        pass": "steps",
    "def f(x):\n    while True:\n        x = x + 1": "operations",
    "def f(x):\n    g = lambda y: g(y)\n    return g(x)": "nested",
    "def f(x):\n    g = lambda y: jax.jit(g)(y)\n    return g(x)": "nested",
    "def f(x):\n    a = []\n    a.append(a)\n    return jnp.array(a)": "nested",
    "def f(x):\n    a = []\n    a.append(a)\n    b = [a]\n    b[0] = b\n    return a == b": "nest",
    "def f(x):\n    g = jnp.sin\n    for i in range(20):\n        g = jax.grad(g)\n"
    "    return g(x[0])": "derivatives",
    "def f(x):\n    return 2**100": "bits",
    "def f(x):\n    return jnp.ones((10**5, 10**5))": "bytes",
    "def f(x):\n    return jnp.stack([x]*600)": "512",
    "def f(x):\n    return [[x]*90]*60": "arrays",
}


@pytest.mark.parametrize("source", LIMITED)
def test_limit(source):
    limits = Limits(steps=5_000, array_operations=50)
    with jax.enable_x64(True), pytest.raises(LimitExceeded, match=LIMITED[source]):
        jax.eval_shape(parse(source, limits=limits).bind(), X)


@pytest.mark.parametrize(
    "body", ["-" * 60000 + "x", "not " * 15000 + "x", "x" + "+1" * 30000, "lambda:" * 9000 + "x"]
)
def test_parser_bombs_are_refused(body):
    with pytest.raises(ProblemError):
        parse(f"def f(x):\n    return {body}")


@pytest.mark.parametrize("inner", ["f(x)", "jax.vmap(f)(x[None])[0]"])
def test_deep_recursion_is_refused_without_its_frames(inner):
    """JAX walks the frames of an error at each of its borders: thousands took 20 seconds."""
    source = "def f(x):\n    return " + "sin(" * 50 + inner + ")" * 50
    with pytest.raises(LimitExceeded, match="deep") as caught:
        jax.eval_shape(parse(source).bind(), X)
    assert caught.value.line == 2
    assert len(list(traceback.walk_tb(caught.value.__traceback__))) < 100


def test_what_no_table_foresaw_is_refused_and_its_cause_is_logged():
    class Odd(tuple):
        def __len__(self):
            raise ValueError("this has no length")

    with capture_logs() as logs, pytest.raises(RefusedSource, match="cannot be evaluated"):
        parse("def odd(x):\n    return x").bind()(Odd())
    (line,) = logs
    assert line["log_level"] == "error"
    assert line["function"] == "odd"
    assert "this has no length" in line["cause"]
