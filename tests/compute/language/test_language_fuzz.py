"""Mutated sources give a result or a problem error, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.compute.language import Limits, parse
from app.compute.language.function import UNFORESEEN
from app.core.errors import ProblemError

DATA = Path(__file__).parent / "data"
SOURCES = [
    json.loads(line)["source"]
    for name in ("functions.jsonl", "attacks.jsonl")
    for line in (DATA / name).read_text(encoding="utf-8").splitlines()
    if len(line) < 1500
]
PIECES = [
    "x", "0", "-1", "[", "]", "(", ")", ":", "None", "True", "...", "'a'", "1j", "**", "*", "@",
    ".T", ".at[0]", ".shape", "jnp", "jnp.sin", "jax.grad", "lambda y: y", "{}", "[[]]", "range(3)",
    "x.dtype", "slice(1)", "f", "is", "in", "not ", "=", "==", ", ", "\n", "    ", "jnp.float32",
    "int", "str", "max", "dict", "zip", "f'{x}'", "lax.scan", "for i in x", "if x", "^", "~", "%",
]  # fmt: skip
LIMITS = Limits(steps=3_000, array_operations=100, deadline_s=1.0)
X = jax.ShapeDtypeStruct((3,), np.dtype("float64"))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    source=st.sampled_from(SOURCES),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(PIECES)),
        min_size=1,
        max_size=4,
    ),
)
def test_mutations(source, edits):
    for place, width, piece in edits:
        start = int(place * len(source))
        source = source[:start] + piece + source[start + width :]
    try:
        with jax.enable_x64(True):
            function = parse(source, limits=LIMITS)
            jax.eval_shape(function.bind(), *[X] * len(function.parameters))
        refusal = None
    except ProblemError as error:
        refusal = error
    assert refusal is None or refusal.detail != UNFORESEEN, source
