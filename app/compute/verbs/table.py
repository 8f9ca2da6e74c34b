"""Every verb by name. A verb is added by adding a module here that holds a ``VERBS`` tuple."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from app.compute import verbs
from app.compute.verbs.verb import Verb


def _found() -> Iterator[Verb]:
    for module in pkgutil.iter_modules(verbs.__path__):
        if module.name not in ("table", "verb"):
            yield from importlib.import_module(f"{verbs.__name__}.{module.name}").VERBS


VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in _found()})
