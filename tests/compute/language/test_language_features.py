"""Each feature of the language, against values computed by hand or with Python's math."""

# ruff: noqa: E501
from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from app.compute.language import parse


def run(source: str, *args: Any, static: dict[str, Any] | None = None, entry: str | None = None):
    with jax.enable_x64(True):
        function = parse(source, entry)
        given = [np.asarray(value, float) for value in args]
        return jax.tree.map(np.asarray, jax.jit(function.bind(static))(*given))


FORMULAS = [
    ("x^2 + sin(y)", (3.0, 1.0), 9 + math.sin(1)),
    ("-x^2/2", (3.0,), -4.5),
    ("2^-x", (2.0,), 0.25),
    ("x**2 +\n y", (1.0, 2.0), 3.0),
    ("sum(x) + max(x) + abs(x[0])", ([1.0, 2.0],), 6.0),
    ("mean + 2*std*x", (1.0, 2.0, 3.0), 13.0),
    ("pi*r^2", (2.0,), 4 * math.pi),
    ("einsum('i,i->', a, b)", ([1.0, 2.0], [3.0, 4.0]), 11.0),
]


@pytest.mark.parametrize(("source", "args", "wanted"), FORMULAS)
def test_formula(source, args, wanted):
    np.testing.assert_allclose(run(source, *args), wanted, rtol=1e-12)


def test_formula_parameters_in_order_of_first_appearance():
    function = parse("b*x + a^2 - b + sin(pi*c)")
    assert function.kind == "formula"
    assert [parameter.name for parameter in function.parameters] == ["b", "x", "a", "c"]


CASES = {
    "lambda": ("lambda x, y=2.0: x*y", 6.0),
    "caret keeps its meaning in Python": ("lambda x: x + (5 ^ 1)", 7.0),
    "np means jnp": ("def f(x):\n    return np.sin(x)", math.sin(3)),
    "indented": ("    def f(x):\n        return 2.0*x\n", 6.0),
    "last def is the entry": ("def f(x):\n    return x\ndef g(x):\n    return f(x) + 1", 4.0),
    "closure": ("def f(x):\n    def g(y):\n        return x*y\n    return g(2.0)", 6.0),
    "nonlocal": (
        "def f(x):\n    n = 1\n    def g():\n        nonlocal n\n        n = n + 1\n    g(); g()\n"
        "    return x*n",
        9.0,
    ),
    "star args": ("def g(x, *a, k=1.0, **kw):\n    return x + sum(a) + k + sum(kw.values())\n"
                  "def f(x):\n    return g(x, 1, *[2], k=3, **{'z': 4})", 13.0),
    "decorator": ("def twice(g):\n    return lambda x: 2*g(x)\n@twice\ndef f(x):\n    return x", 6.0),
    "jit with static": (
        "from functools import partial\n@partial(jax.jit, static_argnums=1)\n"
        "def f(x, n=2):\n    return x*n",
        6.0,
    ),
    "if elif else": (
        "def f(x, n=3):\n    if n == 1:\n        return x\n    elif n == 3:\n        return -x\n"
        "    else:\n        return 0*x",
        -3.0,
    ),
    "for else, break, continue": (
        "def f(x):\n    t = 0\n    for i in range(9):\n        if i == 1:\n            continue\n"
        "        if i == 4:\n            break\n        t += i*x\n    else:\n        t = -1.0\n"
        "    return t",
        15.0,
    ),
    "while": ("def f(x):\n    n = 3\n    while n:\n        x, n = x + n, n - 1\n    return x", 9.0),
    "comprehensions": (
        "def f(x):\n    d = {k: k*x for k in range(3) if k}\n    return sum([d[k] for k in d])",
        9.0,
    ),
    "unpacking": ("def f(x):\n    a, *b, (c, d) = [x, 1, 2, (3, 4)]\n    return a+sum(b)+c*d", 18.0),
    "walrus": ("lambda x: (y := 2*x) + y", 12.0),
    "slices": ("lambda x: jnp.arange(10.0)[2:8:2].sum() + [1, 2, 3][-1] * x", 21.0),
    "list index": ("lambda x: jnp.array([5.0, 6.0, 7.0])[[0, 2]].sum() + 0*x", 12.0),
    "f-string chooses": ("lambda x: {'k1': x, 'k2': 2*x}[f'k{1 + 1}']", 6.0),
    "augmented item": ("def f(x):\n    a = [x, x]\n    a[0] *= 2\n    return a[0]", 6.0),
    "at set": ("lambda x: jnp.zeros(3).at[1].set(x).at[0].add(1).sum()", 4.0),
    "alias import": ("import jax.numpy as n, jax.scipy.special as s\nlambda x: n.exp(s.gammaln(x))", 2.0),
    "from import": ("from jax.scipy.stats import norm\nlambda x: norm.cdf(0*x)", 0.5),
    "math": ("import math\nlambda x: x*math.sqrt(4)", 6.0),
    "reduce": ("from functools import reduce\nlambda x: reduce(lambda a, b: a*b, [x]*3)", 27.0),
    "grad": ("lambda x: jax.grad(lambda y: y**3)(x)", 27.0),
    "value_and_grad": ("lambda x: jax.value_and_grad(lambda y: y**2)(x)[1]", 6.0),
    "jvp": ("lambda x: jax.jvp(lambda y: y**2, (x,), (1.0,))[1]", 6.0),
    "vjp": ("lambda x: jax.vjp(lambda y: y**2, x)[1](1.0)[0]", 6.0),
    "hessian": ("lambda x: jax.hessian(lambda y: y**3)(x)", 18.0),
    "jacfwd of jacrev": ("lambda x: jax.jacfwd(jax.jacrev(lambda y: y**3))(x)", 18.0),
    "vmap of a builtin": ("lambda x: jax.vmap(jnp.square)(x*jnp.ones(2)).sum()", 18.0),
    "checkpoint": ("lambda x: jax.grad(jax.checkpoint(lambda y: y**2))(x)", 6.0),
    "switch by a number": ("lambda x: lax.switch(x - 2, [lambda y: y, lambda y: 2*y], x)", 6.0),
    "while_loop": ("lambda x: lax.while_loop(lambda c: c < 10, lambda c: c*2, x)", 12.0),
    "scan": ("lambda x: lax.scan(lambda c, _: (c + 1, c), x, None, length=4)[0]", 7.0),
    "cond": ("lambda x: lax.cond(x > 0, lambda y: -y, lambda y: y, x)", -3.0),
    "custom_root": (
        "lambda x: jax.grad(lambda a: lax.custom_root(lambda y: y**2 - a, a, "
        "lambda g, y: lax.fori_loop(0, 30, lambda i, y: y - g(y)/(2*y), y), "
        "lambda g, y: y/g(1.0)))(x)",
        1 / (2 * math.sqrt(3)),
    ),
    "ravel_pytree": (
        "lambda x: jax.flatten_util.ravel_pytree({'a': x, 'b': x})[1](jnp.arange(2.0))['b']", 1.0,
    ),
    "tree map": ("lambda x: jax.tree.map(lambda a: a + 1, {'a': (x, [x])})['a'][1][0]", 4.0),
    "isinstance": ("lambda x: x if isinstance(x, jax.Array) and isinstance(2, (int, str)) else 0*x", 3.0),
    "named results": ("lambda x: jnp.linalg.svd(x*jnp.eye(2)).S.sum()", 6.0),
    "finfo": ("lambda x: x*(jnp.finfo(jnp.float32).bits == 32)", 3.0),
    "dtype strings": ("lambda x: x.astype('float32').dtype.itemsize + 0*x", 4.0),
    "r_": ("lambda x: jnp.r_[0:3, 7].sum() + 0*x", 10.0),
    "optax": ("lambda x: optax.l2_loss(x, 1.0) + optax.losses.huber_loss(x)", 4.5),
    "random key": ("lambda x: jax.random.uniform(jax.random.key(x), ()) >= 0", 1.0),
    "precision": ("lambda x: lax.dot(x*jnp.ones(2), jnp.ones(2), precision=lax.Precision.HIGHEST)", 6.0),
    "abs of traced": ("lambda x: abs(-x)", 3.0),
    "sorted, zip, enumerate": (
        "lambda x: sum(i*a for i, (a, _) in enumerate(zip(sorted([3, 1, 2]), 'abc'))) * x", 24.0),
    "shadowed name": ("def f(x):\n    jnp = x\n    return jnp + 1.0", 4.0),
    "annotations are not read": ("def f(x: open('no') = 1, *, y: jnp.nope = 2) -> a.b:\n    return x", 3.0),
    "docstring": ('def f(x):\n    """Twice."""\n    return 2*x', 6.0),
    "print is silent": ("def f(x):\n    print(x)\n    return x", 3.0),
    "float of traced": ("lambda x: float(x)", 3.0),
    "long sum needs no stack": ("lambda x: x" + " + 1" * 600, 603.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_feature(name):
    source, wanted = CASES[name]
    np.testing.assert_allclose(run(source, 3.0), wanted, rtol=1e-9)


def test_named_tuple_record():
    source = (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    w: float\n    b: float = 1.0\n"
        "def f(x):\n    p = P(w=x)\n    w, b = p._replace(b=5.0)\n"
        "    g = jax.grad(lambda q: q.w**2 + q[1])(p)\n    return g, w + b"
    )
    assert run(source, 3.0) == ({"w": 6.0, "b": 1.0}, 8.0)


def test_dataclass_record_with_method_property_and_call():
    source = (
        "from dataclasses import dataclass, replace\n@dataclass(frozen=True)\nclass P:\n"
        "    a: float\n    b: float = 2.0\n    def area(self):\n        return self.a*self.b\n"
        "    @property\n    def twice(self):\n        return 2*self.a\n"
        "    def __call__(self, x):\n        return x + self.a\n"
        "def f(x):\n    p = replace(P(x), b=4.0)\n"
        "    return p.area(), p.twice, p(1.0), jax.grad(lambda q: q.area())(p)"
    )
    assert run(source, 3.0) == (12.0, 6.0, 4.0, {"a": 4.0, "b": 3.0})


def test_modules_of_jax_numpy_may_be_written_bare():
    formula = parse("linalg.norm(x) + fft.fft(x)[0].real")
    assert [parameter.name for parameter in formula.parameters] == ["x"]
    assert run("lambda x: linalg.norm(jnp.stack([x, 4.0]))", 3.0) == 5.0
    assert run("def f(x):\n    linalg = 2.0\n    return x * linalg", 3.0) == 6.0


def test_records_need_no_import():
    named = "class P(NamedTuple):\n    w: float\ndef f(x):\n    return P(x).w * 2"
    data = "@dataclass\nclass P:\n    w: float\ndef f(x):\n    return P(x).w * 2"
    assert run(named, 3.0) == run(data, 3.0) == 6.0


def test_static_values_are_python_values():
    source = "def f(x, n, kind):\n    return sum(x**i for i in range(n)) if kind == 'p' else x"
    assert run(source, 3.0, static={"n": 4, "kind": "p"}) == 40.0


def test_entry_may_be_named():
    assert run("def f(x):\n    return x\ng = jax.grad(lambda x: x**2)", 3.0, entry="g") == 6.0


def test_parameters_have_kinds_and_defaults():
    function = parse("def f(a, /, b, c=1, *d, e, g=2, **h):\n    return a")
    assert [(p.name, p.has_default, p.kind) for p in function.parameters] == [
        ("a", False, "positional_only"),
        ("b", False, "positional_or_keyword"),
        ("c", True, "positional_or_keyword"),
        ("d", False, "var_positional"),
        ("e", False, "keyword_only"),
        ("g", True, "keyword_only"),
        ("h", False, "var_keyword"),
    ]


def test_statements_are_traced_under_the_name_of_their_line():
    function = parse("def f(x):\n    y = jnp.sin(x)\n    return y * 2")
    text = jax.jit(function.bind()).lower(1.0).as_text(debug_info=True)
    assert "L2/sin" in text
    assert "L3/mul" in text


def test_each_call_has_new_fuel():
    with jax.enable_x64(True):
        bound = parse("def f(x):\n    for i in range(5000):\n        pass\n    return x").bind()
        for _ in range(30):
            jax.eval_shape(bound, 1.0)


@pytest.mark.parametrize(
    ("operator", "start", "wanted"),
    [
        ("lax.max", "-jnp.inf", [[0, 0], [2, 8]]),
        ("lax.min", "jnp.inf", [[2, 8], [0, 0]]),
        ("lax.add", "0.0", [[2, 8], [2, 8]]),
    ],
)
def test_pooling_has_a_gradient(operator, start, wanted):
    """d/dx of sum(w * pool(x)), w the pooled numbers' weights 2 and 8."""
    source = f"""
def f(x):
    pooled = lax.reduce_window(x, {start}, {operator}, (2, 1), (2, 1), "VALID")
    return jnp.sum(pooled * jnp.array([2.0, 8.0]))

def slope(x):
    return jax.grad(f)(x)
"""
    x = [[1.0, 5.0], [3.0, 7.0]]
    np.testing.assert_array_equal(run(source, x, entry="slope"), wanted)
