"""What a name means: the source's own names, then Python's builtins, then names of jax.numpy.

In a formula ``jax.numpy`` comes before Python's builtins, so ``sum`` and ``max`` are NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from app.compute.language import denials
from app.compute.language.messages import near
from app.compute.language.natives import DATACLASSES, NATIVES
from app.compute.language.registry import (
    FORMULA_MODULES,
    Registry,
    is_python_builtin,
    known_names,
    registry,
)
from app.compute.language.scope import MISSING, Scope, root_scope
from app.compute.language.values import Ignored, Module
from app.core.errors import RefusedSource

PACKAGES = ("scipy", "torch", "tensorflow", "pandas", "sympy", "os", "sys")
RECORD_MAKERS: Mapping[str, Any] = MappingProxyType(
    {"NamedTuple": Ignored("NamedTuple"), "dataclass": DATACLASSES["dataclass"]}
)
"""What makes a class a record, known without an import as JAX's modules are."""


@cache
def module_root() -> Scope:
    """The outermost scope of lambdas and modules; never bound to after this."""
    known = registry()
    bare = {**known.bare, **_parts(known)}
    return root_scope({**bare, **known.roots, **NATIVES, **RECORD_MAKERS})


@cache
def formula_root() -> Scope:
    """The outermost scope of formulas; never bound to after this."""
    return root_scope(formula_names())


def formula_names() -> Mapping[str, Any]:
    """Every name that means something in a formula before its parameters do."""
    known = registry()
    modules = {name: known.roots[name] for name in FORMULA_MODULES}
    return MappingProxyType({**NATIVES, **known.bare, **_parts(known), **modules})


def _parts(known: Registry) -> dict[str, Any]:
    """Modules of jax.numpy that are named as its functions are, bare."""
    return {name: known.roots["jnp"].members[name] for name in ("linalg", "fft")}


def lookup(known: Registry, scope: Scope, name: str) -> Any:
    """The value of ``name`` in ``scope``; raise with near matches where there is none."""
    value = scope.find(name)
    if value is MISSING:
        raise unknown_name(name, _names_in(scope))
    return value


def _names_in(scope: Scope | None) -> Iterable[str]:
    while scope is not None:
        yield from scope.variables
        scope = scope.parent


def unknown_name(name: str, visible: Iterable[str]) -> RefusedSource:
    """The refusal of a name that nothing binds."""
    if is_python_builtin(name):
        reason, instead = denials.of_builtin(name)
        return RefusedSource(f"{name} is not allowed: {reason}", hint=instead)
    if name in PACKAGES:
        return RefusedSource(
            f"{name} is not allowed: only jax, jax.numpy and their modules are there",
            hint="write jax.scipy" if name == "scipy" else None,
        )
    elsewhere = [full for full in known_names() if full.rpartition(".")[2] == name]
    if elsewhere:
        hint: str | None = f"write {_plainest(elsewhere)}"
    else:
        hint = near(name, visible)
    return RefusedSource(f"the name {name[:60]} is not defined", hint=hint)


def _plainest(names: list[str]) -> str:
    """The name that users know best: jax.numpy's, then jax's, then lax's."""
    return min(names, key=lambda name: (name.startswith("lax."), len(name)))


def member(module: Module, name: str) -> Any:
    """What ``module.name`` means; raise with the reason or near matches where it is nothing."""
    if name in module.members:
        return module.members[name]
    full = f"{module.name}.{name[:60]}"
    if name in module.denied:
        return _raise(RefusedSource(f"{full} is not allowed: {module.denied[name]}"))
    hint = near(name, module.members)
    if hint is None:
        elsewhere = [other for other in known_names() if other.rpartition(".")[2] == name]
        hint = f"write {_plainest(elsewhere)}" if elsewhere else None
    return _raise(
        RefusedSource(f"{full} is not allowed: the language has no such function", hint=hint)
    )


def _raise(error: RefusedSource) -> Any:
    raise error
