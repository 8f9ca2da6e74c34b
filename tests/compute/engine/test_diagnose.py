"""Diagnosis names the operation that first made a value not finite, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from app.compute.engine import Engine
from app.core.errors import LimitExceeded
from tests.compute.engine.calls import make_engine, spec_of


def diagnose(engine: Engine, verb: str, source: str, args: list[Any]) -> list[dict[str, Any]]:
    spec, leaves = spec_of(verb, {"function": source, "args": args})
    return engine.diagnose(spec, leaves)


def test_the_log_of_a_negative_number(engine: Engine) -> None:
    source = "def f(x):\n    y = x - 2\n    z = jnp.log(y)\n    return jnp.sum(z * 3)"
    (found,) = diagnose(engine, "evaluate", source, [[3.0, 1.0, 2.5]])
    assert found["line"] == 3
    assert found["operation"] == "log"
    assert found["index"] == [1]
    assert found["inputs"] == [-1.0]
    assert found["value"] == "NaN"
    assert found["role"] == "primal"
    assert found["message"] == "log of -1.0 at index [1] is NaN"


def test_what_where_discards_is_not_blamed(engine: Engine) -> None:
    source = (
        "def f(x):\n    y = jnp.log(x)\n    return jnp.sum(jnp.where(x > 0, y, 0)) / (x[0] - 1)"
    )
    (found,) = diagnose(engine, "evaluate", source, [[1.0, -1.0]])
    assert found["line"] == 3
    assert found["operation"] == "div"


def test_finite_results_have_no_findings(engine: Engine) -> None:
    assert diagnose(engine, "grad", "lambda x: x ** 2", [2.0]) == []


def test_an_infinite_slope_is_found_before_its_product(engine: Engine) -> None:
    found = diagnose(engine, "grad", "def f(x):\n    return jnp.sqrt(x) * x", [0.0])
    assert found[0]["operation"] in ("div", "rsqrt", "integer_pow")
    assert found[0]["line"] == 2
    assert found[0]["value"] == "Infinity"


@pytest.mark.parametrize(
    "loop",
    [
        "lax.fori_loop(0, 5, lambda i, c: jnp.sqrt(c - 1), x)",
        "lax.while_loop(lambda c: c > -5, lambda c: jnp.sqrt(c - 1), x)",
        "lax.scan(lambda c, _: (jnp.sqrt(c - 1), c), x, None, length=5)[0]",
        "lax.cond(x > 0, lambda c: jnp.sqrt(-c), lambda c: c, x)",
        "jax.jit(lambda c: jnp.sqrt(-c))(x)",
    ],
)
def test_loops_and_branches_are_entered(engine: Engine, loop: str) -> None:
    found = diagnose(engine, "evaluate", f"def f(x):\n    x = x * 1\n    return {loop}", [3.0])
    assert found[0]["operation"] == "sqrt"
    assert found[0]["line"] == 3
    assert found[0]["inputs"][0] < 0


def test_infinite_inputs_are_not_blamed_but_what_they_turn_to_is(engine: Engine) -> None:
    (found,) = diagnose(engine, "evaluate", "lambda x: x - x", ["Infinity"])
    assert found["operation"] == "sub"
    assert found["inputs"] == ["Infinity", "Infinity"]


def test_operations_are_bounded() -> None:
    engine = make_engine(diagnosed_equations=50)
    source = "lambda x: lax.fori_loop(0, 1000, lambda i, c: c + 1, x) + jnp.log(-x) * 0 "
    spec, leaves = spec_of("evaluate", {"function": source, "args": [3.0]})
    assert engine.diagnose(spec, leaves)[0]["operation"] == "log"
    long = "lambda x: lax.fori_loop(0, 1000, lambda i, c: c * 4, x)"
    spec, leaves = spec_of("evaluate", {"function": long, "args": [1.0]})
    with pytest.raises(LimitExceeded, match="too many operations"):
        engine.diagnose(spec, leaves)


def test_a_solver_that_failed_is_named_once_with_its_line(engine: Engine) -> None:
    source = "def f(A, b):\n    x = solve.linear_solve(A, b)\n    return jnp.sum(x * 2)"
    singular = [[1.0, 2.0], [2.0, 4.0]]
    (found,) = diagnose(engine, "evaluate", source, [singular, [1.0, 1.0]])
    assert (found["line"], found["operation"]) == (2, "solve.linear_solve")
    assert (
        found["message"]
        == "solve.linear_solve: no solution was found; full=True tells how it ended"
    )
    source = "def f(A):\n    return 2 * solve.eigen(A, k=1).values[0]"
    (found,) = diagnose(engine, "grad", source, [[[1.0, 0.0], [0.0, 1.0]]])
    assert (found["line"], found["role"], found["operation"]) == (2, "cotangent", "solve.eigen")
    assert "derivative does not exist" in found["message"]
