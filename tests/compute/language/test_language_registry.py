"""The registry: nothing but what is listed, no backend started, a catalogue for completion."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources

from app.compute.language import solve
from app.compute.language.argument_rules import RULES
from app.compute.language.natives import NATIVES
from app.compute.language.registry import catalogue, registry
from app.compute.language.values import Builtin

NAMES = json.loads(resources.files("app.compute.language").joinpath("names.json").read_text())


def test_every_registered_function_is_listed():
    for builtin in registry().builtins():
        space, _, name = builtin.name.rpartition(".")
        if space == "solve":
            assert name in solve.functions()
            continue
        listed = NAMES["math"] if space == "math" else NAMES["namespaces"][space]["functions"]
        assert name in listed


def test_no_denied_name_is_registered():
    for space, denied in NAMES["denied"].items():
        members = registry().modules[space].members
        assert not [name for name in denied if type(members.get(name)) is Builtin]


def test_natives_are_those_listed():
    assert set(NATIVES) == set(NAMES["python_builtins"])


def test_rules_are_of_registered_functions():
    assert set(RULES) <= {builtin.name for builtin in registry().builtins()}


def test_catalogue_describes_functions():
    entries = {entry["name"]: entry for entry in catalogue()}
    assert entries["jnp.linspace"]["signature"].startswith("(start, stop, num=50")
    assert "inverse" in entries["jnp.linalg.inv"]["summary"]
    assert all("0x" not in entry["signature"] for entry in entries.values())


def test_each_file_of_solve_is_a_documented_function():
    described = {entry["name"]: entry for entry in catalogue()}
    files = resources.files("app.compute.language.solve").iterdir()
    names = {file.name.removesuffix(".py") for file in files if file.name.endswith(".py")}
    assert names - {"__init__", *solve.APART} == set(solve.functions())
    for name in solve.functions():
        entry = described[f"solve.{name}"]
        assert entry["summary"]
        assert "full=False" in entry["signature"]


def test_loading_and_parsing_start_no_backend():
    code = (
        "from app.compute.language import parse\n"
        "parse('def f(x):\\n    return jnp.sin(x)')\nparse('x^2')\n"
        "import jax._src.xla_bridge as bridge\n"
        "assert not bridge.backends_are_initialized()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
