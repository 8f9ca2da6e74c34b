"""Imports: names for modules of the registry. Nothing is ever imported because a source says so."""

from __future__ import annotations

from typing import Any

from app.compute.language import lookup
from app.compute.language.messages import near
from app.compute.language.registry import Registry
from app.compute.language.values import Ignored, Module
from app.core.errors import RefusedSource

HINTS = {
    "numpy.random": "use jax.random with an explicit key",
    "scipy": "write jax.scipy",
    "jax.experimental": "only what is stable in JAX is there",
    "flax": "write the layers with jax.numpy and jax.nn",
    "equinox": "write records with NamedTuple or dataclasses",
    "torch": "write it with jax.numpy",
}


def module(known: Registry, name: str, alias: str | None) -> tuple[str, Any]:
    """The name that ``import name as alias`` binds, and what to."""
    found = known.imports.get(name)
    if found is None and name in known.type_imports:
        found = Ignored(name)
    if found is None:
        raise refused(known, name)
    if alias is not None:
        return alias, found
    root = name.partition(".")[0]
    return root, known.imports.get(root, found)


def member(known: Registry, module_name: str, name: str) -> Any:
    """What ``from module_name import name`` means."""
    whole = known.imports.get(f"{module_name}.{name}")
    if whole is not None:
        return whole
    found = known.imports.get(module_name)
    if found is not None:
        return lookup.member(found, name)
    if module_name in known.type_imports:
        return Ignored(name)
    raise refused(known, module_name)


def refused(known: Registry, name: str) -> RefusedSource:
    """The refusal of a module that is not in the registry."""
    hint = next((text for start, text in HINTS.items() if name.startswith(start)), None)
    denied = _denied(known, name)
    if denied is not None:
        return RefusedSource(f"the import of {name[:80]} is not allowed: {denied}", hint=hint)
    return RefusedSource(
        f"the import of {name[:80]} is not allowed: only jax, jax.numpy and their modules are "
        "there",
        hint=hint or near(name, known.imports),
    )


def _denied(known: Registry, name: str) -> str | None:
    parent, _, last = name.rpartition(".")
    found = known.imports.get(parent)
    return found.denied.get(last) if isinstance(found, Module) else None
