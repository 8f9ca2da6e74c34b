"""Better derivative rules for functions of the registry, by the registry's names.

``docs/derivatives.md`` is the table of what differs from JAX and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

OVERRIDES: Mapping[str, Callable[..., Any]] = {}
"""Registry name (``jnp.hypot``, ``operator.pow``) to the function used in its place."""
