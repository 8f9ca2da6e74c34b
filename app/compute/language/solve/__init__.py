"""The namespace ``solve`` of the language: the solvers, callable inside functions.

One file a function, named as the function; adding the file is all that registers it. Recipe for
``solve.root``: write ``root.py`` here, with ``def root(f, x0, *args, method="…", tol=None, …)``.

- **Arguments** are JAX values (arrays, pytrees, ``SparseMatrix``), maybe traced, under any
  transform. ``f`` is a plain callable: call it, trace it, differentiate it; its values enter and
  leave the language by themselves, and what it refuses carries its own line. What ``f`` closes
  over may be traced too: differentiate in it (``jax.closure_convert``, ``lax.custom_root``).
- **Options** are keyword-only and static: read them with ``options.choice``, ``options.number``,
  ``options.count``. Wrong ones raise ``InvalidArgument`` without a pointer: the evaluator adds
  line and column. ``REFUSED`` says of options of the verb that are not taken what to do instead.
- **The result** is the solution alone, in the shape of ``x0``; with ``full=True`` a ``NamedTuple``
  whose fields have the names that the verb's result has over HTTP, then ``success`` (a bool) and
  ``outcome`` (an index into the verb's outcomes). Where ``success`` would be false the solution is
  NaN (``outcomes.sound``), in both forms: no number that is not a solution leaves by a path that
  nobody looks at.
- **Derivatives** are implicit, to second order where mathematics allows, and NaN where they do not
  exist or their own linear solve failed. ``ORDER = n`` at the top of the file says how many
  derivatives of ``f`` one call takes, for the bound on nested derivatives; 0 if left out.
- **The docstring's first sentence** is the summary in completion and docs; the signature is shown
  as written, so give it good names and defaults.

Nothing here makes an array on import. Tests: ``tests/compute/language/solve/test_<name>.py``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from types import MappingProxyType, ModuleType
from typing import Any

import jax

from app.core.errors import InvalidArgument

APART = ("options", "outcomes")
"""Modules of this package that are not functions of the language."""


@cache
def functions() -> Mapping[str, Callable[..., Any]]:
    """Each function of the namespace by its name, traced under the scope ``solve.<name>``."""
    return MappingProxyType(
        {
            name: jax.named_scope(f"solve.{name}")(
                _with_known_options(getattr(module, name), getattr(module, "REFUSED", {}))
            )
            for name, module in _modules()
        }
    )


@cache
def orders() -> Mapping[str, int]:
    """How many derivatives one call takes of the functions it is given, by full name."""
    return MappingProxyType(
        {f"solve.{name}": getattr(module, "ORDER", 0) for name, module in _modules()}
    )


def _with_known_options(
    function: Callable[..., Any], refused: Mapping[str, str]
) -> Callable[..., Any]:
    """``function``, which says what options it takes when given another, as one of its verb;
    of those in ``refused`` what to do instead."""
    parameters = inspect.signature(function).parameters
    options = [name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY]

    @wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        unknown = [name for name in given if name not in parameters]
        if unknown:
            raise InvalidArgument(
                f"solve.{function.__name__} takes no {unknown[0]}",
                hint=refused.get(unknown[0])
                or f"it takes {', '.join(options)}; options of the verb beyond these are of the "
                "verb alone",
            )
        return function(*args, **given)

    return checked


def _modules() -> Iterator[tuple[str, ModuleType]]:
    for found in pkgutil.iter_modules(__path__):
        if found.name not in APART:
            yield found.name, importlib.import_module(f"{__name__}.{found.name}")
