"""Every host function that a source may name, built once from ``names.json`` and then fixed.

Nothing reaches the host but through these tables. A name that JAX has and the list lacks does not
exist here, and a name that the list has and this JAX lacks is left out. Loading imports JAX but
makes no array and starts no backend.
"""

from __future__ import annotations

import builtins
import importlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jax import numpy as jnp

from app.compute.derivatives.rules import OVERRIDES
from app.compute.language import catalogue as describing
from app.compute.language import matrix_loops, matrix_rules, matrix_transforms, natives, solve
from app.compute.language.values import ArrayType, Builtin, DType, Indexer, Module, Token

SHORT_NAMES = {
    "jnp": "jnp",
    "np": "jnp",
    "numpy": "jnp",
    "jax": "jax",
    "lax": "lax",
    "math": "math",
    "jsp": "jax.scipy",
    "nn": "jax.nn",
    "random": "jax.random",
    "optax": "optax",
    "functools": "functools",
    "solve": "solve",
}
"""Modules that are there without import."""
FORMULA_MODULES = ("jnp", "np", "jax", "lax", "math", "solve")
HIDDEN_STATE = "it draws from hidden state; use jax.random.normal(key, shape) with an explicit key"
EXTRA_DENIED = {
    "jnp": {
        "random": HIDDEN_STATE,
        "matrix": "use two-dimensional arrays",
        "ndenumerate": "use jnp.arange or jax.vmap",
        "trapz": "it was renamed; use jnp.trapezoid",
        "product": "it was renamed; use jnp.prod",
        "in1d": "it was renamed; use jnp.isin",
        "float96": "JAX has no such type",
        "float128": "JAX has no such type",
        "longdouble": "JAX has no such type",
    },
}

OWN = {
    **matrix_transforms.OVERRIDES,
    **matrix_loops.OVERRIDES,
    **matrix_rules.OVERRIDES,
    **OVERRIDES,
}
"""Functions of ours that stand in for the host's."""


@dataclass(frozen=True, slots=True)
class Registry:
    """All modules by full name, what an import may name, and the names of whole files.

    ``bare`` are the names of ``jax.numpy`` that need no prefix; ``roots`` the modules that need
    no import.
    """

    modules: Mapping[str, Module]
    imports: Mapping[str, Module]
    type_imports: frozenset[str]
    bare: Mapping[str, Any]
    roots: Mapping[str, Module]
    python_builtins: tuple[str, ...]
    container_methods: Mapping[str, tuple[str, ...]]
    array_attributes: tuple[str, ...]
    array_methods: tuple[str, ...]
    at_methods: tuple[str, ...]
    string_dtypes: frozenset[str]
    info_attributes: Mapping[str, tuple[str, ...]]

    def builtins(self) -> list[Builtin]:
        """Each registered host function once, sorted by its first full name."""
        found = {
            value.name: value
            for module in self.modules.values()
            for value in module.members.values()
            if type(value) is Builtin
        }
        return [found[name] for name in sorted(found)]


@cache
def registry() -> Registry:
    """The registry of this process."""
    text = (
        resources.files("app.compute.language").joinpath("names.json").read_text(encoding="utf-8")
    )
    return _build(json.loads(text))


def catalogue() -> list[dict[str, str]]:
    """Name, signature and one-line summary of every function, for completion and docs."""
    return describing.describe(registry().builtins())


def _build(names: Mapping[str, Any]) -> Registry:
    tables = {full: _table(full, space) for full, space in names["namespaces"].items()}
    for full, members in names["enums"].items():
        parent, _, name = full.rpartition(".")
        tables[parent][name] = _enum(full, getattr(_host_module(names, parent), name), members)
    for full in names["indexers"]:
        parent, _, name = full.rpartition(".")
        tables[parent][name] = Indexer(full, getattr(_host_module(names, parent), name))
    tables["math"] = _math(names["math"])
    tables["functools"] = {**natives.FUNCTOOLS}
    tables["solve"] = {
        name: Builtin(f"solve.{name}", function) for name, function in solve.functions().items()
    }
    tables["dataclasses"] = {**natives.DATACLASSES}
    tables["jnp"]["ndarray"] = tables["jax"]["Array"] = ArrayType()
    denied = {full: {**names["denied"].get(full, {})} for full in tables}
    for full, reasons in EXTRA_DENIED.items():
        denied[full].update(reasons)
    modules = _nest(tables, denied)
    return Registry(
        modules=modules,
        imports=_imports(modules),
        type_imports=frozenset(names["type_imports"]),
        bare={name: value for name, value in tables["jnp"].items() if type(value) is not Module},
        roots={short: modules[full] for short, full in SHORT_NAMES.items()},
        python_builtins=tuple(names["python_builtins"]),
        container_methods={kind: tuple(has) for kind, has in names["container_methods"].items()},
        array_attributes=tuple(names["array_attributes"]),
        array_methods=tuple(names["array_methods"]),
        at_methods=tuple(names["at_methods"]),
        string_dtypes=frozenset(names["string_dtypes"]),
        info_attributes={k: tuple(v) for k, v in names["attributes_of_info"].items()},
    )


def _host_module(names: Mapping[str, Any], full: str) -> Any:
    return importlib.import_module(names["namespaces"][full]["module"])


def _table(full: str, space: Mapping[str, Any]) -> dict[str, Any]:
    module = importlib.import_module(space["module"])
    table: dict[str, Any] = {}
    for name in space["functions"]:
        if hasattr(module, name):
            called = f"{full}.{name}"
            own = OWN.get(called)
            table[name] = Builtin(called, own or getattr(module, name))
    for name in space.get("constants", ()):
        table[name] = getattr(module, name)
    for name in space.get("dtypes", ()):
        if hasattr(module, name):
            table[name] = DType(name, getattr(module, name))
    return table


def _enum(full: str, host: Any, members: list[str]) -> Module:
    return Module(full, {name: Token("enum", getattr(host, name)) for name in members})


def _math(names: list[str]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name in names:
        value = getattr(math, name, None)
        if isinstance(value, float):
            table[name] = value
        elif value is not None:
            table[name] = Builtin(f"math.{name}", value)
    return table


def _nest(
    tables: dict[str, dict[str, Any]], denied: Mapping[str, Mapping[str, str]]
) -> dict[str, Module]:
    """Modules whose submodules are members of them; the tables end up holding both."""
    modules: dict[str, Module] = {}
    for full in [*tables]:
        parts = full.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            table = tables.setdefault(name, {})
            if name not in modules:
                modules[name] = Module(name, table, denied.get(name, {}))
            if count > 1:
                tables[".".join(parts[: count - 1])][parts[count - 1]] = modules[name]
    tables["jax"]["numpy"] = modules["jnp"]
    tables["jax"]["lax"] = modules["lax"]
    return modules


def _imports(modules: Mapping[str, Module]) -> dict[str, Module]:
    """Modules by the dotted names that an import statement writes."""
    found = {}
    for full, module in modules.items():
        head, dot, rest = full.partition(".")
        for root in {"jnp": ("jax.numpy", "numpy"), "lax": ("jax.lax",)}.get(head, (head,)):
            found[root + dot + rest] = module
    return found


def is_python_builtin(name: str) -> bool:
    """Whether Python itself has a builtin of this name."""
    return hasattr(builtins, name)


def known_names() -> list[str]:
    """Full names of everything registered: what near matches are looked for in."""
    return [
        f"{module.name}.{name}"
        for module in registry().modules.values()
        for name in module.members
        if module.name != "jnp" or hasattr(jnp, name)
    ]
