"""Stored executables: loaded in a fresh process, refused on another machine, run without copies."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from app.compute.engine import Engine
from app.compute.programs.executable import IncompatibleExecutableError
from app.core.errors import InvalidArgument
from tests.compute.engine.calls import spec_of

LAPACK = (
    "def f(a):\n    w, v = jnp.linalg.eigh(a @ a.T)\n    return (jnp.sum(w * jnp.linalg.det(a)),"
)
LAPACK += " jnp.linalg.solve(a, a[0]))"
RUNNER = """
import pickle, sys
from app.compute.engine import Engine
from app.compute.limits import EngineLimits
blob, leaves = pickle.load(open(sys.argv[1], "rb"))
engine = Engine(EngineLimits())
program = engine.load(blob)
pickle.dump(engine.run(program, leaves), open(sys.argv[2], "wb"))
"""


def test_a_lapack_program_runs_in_a_fresh_process(engine: Engine, tmp_path: Path) -> None:
    a = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.5, 1.0, 2.0]]
    spec, leaves = spec_of("evaluate", {"function": LAPACK, "args": [a]})
    blob = engine.compile(engine.lower(spec))
    (tmp_path / "in").write_bytes(pickle.dumps((blob, leaves)))
    command = [sys.executable, "-c", RUNNER, str(tmp_path / "in"), str(tmp_path / "out")]
    subprocess.run(command, check=True, timeout=60)
    total, solution = pickle.loads((tmp_path / "out").read_bytes())
    matrix = np.array(a)
    wanted = np.sum(np.linalg.eigvalsh(matrix @ matrix.T)) * np.linalg.det(matrix)
    np.testing.assert_allclose(total, wanted, rtol=1e-12)
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, matrix[0]), rtol=1e-12)


@pytest.mark.parametrize("part", ["cpu", "jaxlib", "device"])
def test_another_machines_blob_is_refused_before_loading(engine: Engine, part: str) -> None:
    spec, _ = spec_of("evaluate", {"function": "lambda x: x + 1", "args": [1.0]})
    blob = engine.compile(engine.lower(spec))
    assert blob is not None
    stored = msgpack.unpackb(blob)
    stored[1][part] = "another"
    stored[-1] = b"machine code of another CPU"
    with pytest.raises(IncompatibleExecutableError):
        engine.load(msgpack.packb(stored))


def test_unused_inputs_are_not_taken(engine: Engine) -> None:
    body = {"function": "lambda x, y, z: z * 2", "args": [1.0, [2.0, 3.0], 4.0]}
    spec, leaves = spec_of("evaluate", body)
    lowered = engine.lower(spec)
    assert lowered.meta["kept"] == [2]
    blob = engine.compile(lowered)
    assert blob is not None
    assert engine.run(engine.load(blob), leaves)[0] == 8.0


def test_the_second_level_key_ignores_names_and_lines(engine: Engine) -> None:
    one, _ = spec_of("grad", {"function": "lambda x: sin(x) * x", "args": [1.0]})
    other, _ = spec_of("grad", {"function": "def g(t):\n\n    return sin(t) * t", "args": [1.0]})
    third, _ = spec_of("grad", {"function": "lambda x: cos(x) * x", "args": [1.0]})
    keys = [engine.lower(spec).l2 for spec in (one, other, third)]
    assert keys[0] == keys[1] != keys[2]
    assert len(keys[0]) == 64


def test_meta_tells_cost_and_shapes(engine: Engine) -> None:
    spec, _ = spec_of("value_and_grad", {"function": "lambda x: x @ x", "args": [[1.0, 2.0]]})
    lowered = engine.lower(spec)
    engine.compile(lowered)
    assert lowered.meta["out"] == {"grad": 1, "value": 0} or set(lowered.meta["out"]) == {
        "grad", "value"}  # fmt: skip
    shapes = {name: lowered.meta["out_avals"][at][:2] for name, at in lowered.meta["out"].items()}
    assert shapes == {"value": ["float64", []], "grad": ["float64", [2]]}
    assert lowered.meta["cost"]["flops"] > 0
    assert lowered.meta["cost"]["peak_memory"] >= 16 + 24
    msgpack.packb(lowered.meta)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "bfloat16",
                                   "float32", "complex64", "complex128"])  # fmt: skip
def test_every_dtype_passes_through(engine: Engine, dtype: str) -> None:
    one = {"dtype": dtype, "shape": [2], "data": [True, False] if dtype == "bool" else [1, 0]}
    if dtype.startswith("complex"):
        one["data"] = [1.0, 2.0, 3.0, 4.0]
    spec, leaves = spec_of("evaluate", {"function": "lambda x: x[::-1]", "args": [one]})
    (got,) = engine.run(engine.build(engine.lower(spec)), leaves)
    assert got.dtype == leaves[0].dtype
    np.testing.assert_array_equal(got, leaves[0][::-1])


def test_float32_programs_take_64_bit_values_that_fit(engine: Engine) -> None:
    big = {"dtype": "int64", "shape": [1], "data": [2**40]}
    body = {"function": "lambda x, n: x * n", "dtype": "float32"}
    typed = {"dtype": "float64", "shape": [1], "data": [0.5]}
    fits = {"dtype": "int64", "shape": [1], "data": [3]}
    spec, leaves = spec_of("evaluate", {**body, "args": [typed, fits]})
    program = engine.build(engine.lower(spec))
    (got,) = engine.run(program, leaves)
    assert got.dtype == np.float32
    assert got == 1.5
    _, large = spec_of("evaluate", {**body, "args": [typed, big]})
    with pytest.raises(InvalidArgument, match="does not fit int32"):
        engine.run(program, large)


def test_float32_programs_refuse_numbers_past_their_range(engine: Engine) -> None:
    body = {"function": "lambda x: x", "dtype": "float32"}
    for dtype, data in (("float64", [1e300]), ("complex128", [0.0, -1e300])):
        typed = {"dtype": dtype, "shape": [1], "data": data}
        spec, leaves = spec_of("evaluate", {**body, "args": [typed]})
        with pytest.raises(InvalidArgument, match="past the range of"):
            engine.run(engine.build(engine.lower(spec)), leaves)
    infinite = {"dtype": "float64", "shape": [1], "data": ["-Infinity"]}
    spec, leaves = spec_of("evaluate", {**body, "args": [infinite]})
    assert engine.run(engine.build(engine.lower(spec)), leaves)[0] == -np.inf


def test_large_aligned_inputs_and_resident_arrays_are_not_copied(engine: Engine) -> None:
    raw = np.zeros(100_008)
    start = (-raw.ctypes.data // 8) % 8
    aligned = raw[start : start + 100_000]
    aligned[:] = np.arange(100_000.0)
    body = {"function": "lambda x: jnp.sum(x)", "args": [{"dtype": "float64", "shape": [0],
            "data": []}]}  # fmt: skip
    spec, _ = spec_of("evaluate", body)
    spec = type(spec).from_wire(
        {**spec.to_wire(), "avals": [["float64", [100_000], "dense", None]]}
    )
    program = engine.build(engine.lower(spec))
    resident = engine.put(aligned)
    for leaf in (aligned, resident):
        assert engine.run(program, [leaf])[0] == 99_999 * 50_000
    aligned[:] = 1.0
    assert engine.run(program, [resident])[0] == 99_999 * 50_000
    assert engine.run(program, [aligned])[0] == 100_000


def test_programs_without_inputs_and_many_calls(engine: Engine) -> None:
    spec, leaves = spec_of(
        "evaluate", {"function": "lambda x: (jnp.arange(2.0), 7)", "args": [1.0]}
    )
    program = engine.build(engine.lower(spec))
    for _ in range(3):
        first, second = engine.run(program, leaves)
        np.testing.assert_array_equal(first, [0.0, 1.0])
        assert second == 7


def test_numpy_and_resident_inputs_in_turn(engine: Engine) -> None:
    body = {"function": "lambda x, y: x * y", "args": [[1.0, 2.0], {"dtype": "float32",
            "shape": [2], "data": [3.0, 4.0]}]}  # fmt: skip
    spec, (x, y) = spec_of("evaluate", body)
    program = engine.build(engine.lower(spec))
    resident = engine.put(x)
    for k in range(3):
        for given in (x + k, x, resident):
            (got,) = engine.run(program, [given, y])
            np.testing.assert_array_equal(got, np.asarray(given) * y)
    strided = np.repeat(x, 2)[::2]
    np.testing.assert_array_equal(engine.run(program, [strided, y])[0], x * y)
    swapped = x.astype(">f8")
    np.testing.assert_array_equal(engine.run(program, [swapped, y])[0], x * y)


INTERFACES = [
    ({"args": {"x": 1.0, "y": 2.0}, "wrt": "y"}, {"args": {"y": 2.0, "x": 1.0}, "wrt": "y"}),
    ({"args": [1.0, 2.0], "wrt": 1}, {"args": [1.0, 2.0], "wrt": [1]}),
]


@pytest.mark.parametrize(("one", "other"), INTERFACES, ids=["inputs", "results"])
def test_programs_of_one_text_but_another_interface_have_other_keys(
    engine: Engine, one: dict[str, Any], other: dict[str, Any]
) -> None:
    function = "lambda x, y: jnp.sin(x) * y"
    specs = [spec_of("grad", {"function": function, **body})[0] for body in (one, other)]
    lowered = [engine.lower(spec) for spec in specs]
    assert lowered[0].stage.as_text() == lowered[1].stage.as_text()
    assert lowered[0].l2 != lowered[1].l2
