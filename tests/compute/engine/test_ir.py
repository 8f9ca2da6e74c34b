"""The text of each stage, and which source line and role each of its lines belongs to."""

from __future__ import annotations

import pytest

from app.compute.engine import Engine
from app.compute.explain import lines
from app.core.errors import NotFound
from tests.compute.engine.calls import spec_of

SOURCE = """def f(x):
    y = jnp.sin(x)
    for k in range(2):
        y = y * x
    return jnp.sum(y)
"""
STAGES = ("jaxpr", "stablehlo", "hlo")
SINE = {"jaxpr": " sin ", "stablehlo": "stablehlo.sine", "hlo": " sine("}


@pytest.mark.parametrize("stage", STAGES)
def test_lines_and_roles(engine: Engine, stage: str) -> None:
    spec, _ = spec_of("grad", {"function": SOURCE, "args": [[1.0, 2.0]]})
    found = engine.ir(spec, stage)
    text = found["text"].splitlines()
    sine = [entry for entry in found["lines"] if SINE[stage] in text[entry["n"] - 1]]
    assert sine
    assert all(entry["source"][-1] == 2 for entry in sine)
    # The forward pass of a gradient is the function itself; only pulling back is another role.
    assert {entry["role"] for entry in sine} == {"primal"}
    assert {entry["role"] for entry in found["lines"]} == {"primal", "cotangent"}
    assert {line for entry in found["lines"] for line in entry["source"]} <= {2, 3, 4, 5}


@pytest.mark.parametrize("stage", STAGES)
def test_values_alone_are_primal(engine: Engine, stage: str) -> None:
    spec, _ = spec_of("evaluate", {"function": SOURCE, "args": [[1.0, 2.0]]})
    assert {entry["role"] for entry in engine.ir(spec, stage)["lines"]} == {"primal"}


def roles_of(engine: Engine, verb: str, operation: str, **extra: object) -> list[str]:
    """The roles of the lines of the traced program that hold an operation."""
    source = "def f(x):\n    return jnp.sum(jnp.exp(x))"
    spec, _ = spec_of(verb, {"function": source, "args": [[1.0, 2.0]], **extra})
    found = engine.ir(spec, "jaxpr")
    text = found["text"].splitlines()
    return [e["role"] for e in found["lines"] if f" {operation} " in text[e["n"] - 1]]


def test_roles_of_each_mode(engine: Engine) -> None:
    """exp is the function itself; its derivative, a product with it, is pushed or pulled."""
    assert roles_of(engine, "grad", "exp") == ["primal"]
    assert roles_of(engine, "grad", "mul") == ["cotangent"]
    assert roles_of(engine, "grad", "exp", vmap={"in_axes": 0}, args=[[[1.0], [2.0]]]) == ["primal"]
    assert set(roles_of(engine, "jvp", "mul", tangents=[[1.0, 1.0]])) == {"tangent"}
    # Forward over reverse: what is pushed through the forward pass, and through the pull back.
    assert set(roles_of(engine, "hessian", "mul")) == {"tangent", "cotangent"}


FORWARD = """def f(x):
    y = jnp.exp(x) * 2.0
    z, _ = lax.scan(lambda c, a: (c * a, None), y[0], x)
    return y * z
"""


@pytest.mark.parametrize("stage", ["jaxpr", "stablehlo"])
@pytest.mark.parametrize(
    ("verb", "extra"), [("jvp", {"tangents": [[1.0, 1.0]]}), ("jacobian", {"mode": "forward"})]
)
def test_forward_mode_tells_the_function_from_its_tangent(
    engine: Engine, verb: str, extra: dict[str, object], stage: str
) -> None:
    spec, _ = spec_of(verb, {"function": FORWARD, "args": [[1.0, 2.0]], **extra})
    found = engine.ir(spec, stage)
    text = found["text"].splitlines()

    def roles(operation: str, line: int) -> list[str]:
        return sorted(
            entry["role"]
            for entry in found["lines"]
            if operation in text[entry["n"] - 1] and entry["source"][-1] == line
        )

    exp, product = (" exp ", " mul ") if stage == "jaxpr" else ("exponential", "stablehlo.multiply")
    own = 2 if verb == "jvp" else 1  # jvp evaluates the function for its value too
    assert roles(exp, 2) == ["primal"] * own
    assert roles(product, 2) == ["primal"] * own + ["tangent"] * 2  # exp'(x) v, times 2
    # c a in the loop, and its derivative c' a + c a'; likewise y z, outside
    assert roles(product, 3) == ["primal"] * own + ["tangent"] * 2
    unused = stage != "jaxpr"  # lowering leaves out the value beside the tangent: none asks for it
    assert roles(product, 4) == ["primal"] * (own - unused) + ["tangent"] * 2


def test_depth_of_transforms() -> None:
    assert lines.reversals(["jit(f)/jvp(L2)/mul", "transpose(jvp(L2))/transpose(jvp(L3))"]) == 1
    assert lines.reversals(["transpose(jvp(transpose(jvp(L2))))"]) == 2
    assert lines.reversals([]) == 0
    assert lines.role("jit(f)/jvp(L2)/jvp(exp)", 1) == "primal"
    assert lines.role("vmap(jvp(jvp(L2)))", 1) == "tangent"
    assert lines.role("jvp(L2/own)", 0) == "primal"
    assert lines.role("jvp(L2)/while/body/L3/pushed/L4/own", 0) == "primal"
    assert lines.role("L3/pushed/mul", 0) == "tangent"


@pytest.mark.parametrize("stage", STAGES)
def test_no_paths_and_no_names_of_ours(engine: Engine, stage: str) -> None:
    spec, _ = spec_of("grad", {"function": SOURCE, "args": [[1.0, 2.0]]})
    text = engine.ir(spec, stage)["text"]
    for secret in (".py", "site-packages", "app/", "File", "Frame", "metadata", "loc("):
        assert secret not in text


def test_nested_programs_inherit_their_line(engine: Engine) -> None:
    source = "def f(x):\n    return lax.fori_loop(0, 3, lambda i, c: c * x, x)"
    spec, _ = spec_of("evaluate", {"function": source, "args": [2.0]})
    found = engine.ir(spec, "jaxpr")
    text = found["text"].splitlines()
    lines = {entry["n"]: entry["source"] for entry in found["lines"]}
    products = [n for n, line in enumerate(text, 1) if " mul " in line]
    assert products
    assert all(lines[n][0] == 2 for n in products)


def test_unknown_stage(engine: Engine) -> None:
    spec, _ = spec_of("grad", {"function": SOURCE, "args": [[1.0, 2.0]]})
    with pytest.raises(NotFound, match="no stage"):
        engine.ir(spec, "assembly")


def test_abstract_eval_knows_every_line(engine: Engine) -> None:
    spec, _ = spec_of("abstract_eval", {"function": SOURCE, "args": [[1.0, 2.0]]})
    found = engine.abstract_eval(spec)
    assert found["out"] == {"dtype": "float64", "shape": []}
    shapes = {each["line"]: each["shape"] for each in found["lines"]}
    assert shapes == {2: [2], 4: [2], 5: []}
