"""The way from the language to the sparse layer, which is imported when the first run starts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.core.errors import RefusedSource

CARRIERS = frozenset(
    "jax.grad jax.value_and_grad jax.jit jax.vmap jax.jvp jax.vjp jax.checkpoint jax.remat "
    "jax.hessian jax.jacfwd jax.jacrev jax.jacobian jax.custom_jvp jax.custom_vjp "
    "lax.cond lax.switch lax.scan lax.while_loop lax.fori_loop lax.map lax.stop_gradient "
    "lax.optimization_barrier lax.custom_root lax.custom_linear_solve function".split()
)
"""Functions that carry a sparse matrix through as the pytree that it is."""
CARRYING_MODULES = ("jax.tree.", "jax.tree_util.", "jax.flatten_util.", "solve.")


@dataclass(frozen=True, slots=True)
class SparseLayer:
    """The sparse matrix type and the one function that computes with it, where there are any."""

    matrix: type | None
    apply: Callable[[str, tuple[Any, ...], Mapping[str, Any]], Any] | None

    def is_sparse(self, value: Any) -> bool:
        """Whether ``value`` is exactly a sparse matrix."""
        return self.matrix is not None and type(value) is self.matrix

    def takes(self, name: str, values: Iterable[Any]) -> bool:
        """Whether a call of ``name`` with these values is the sparse layer's to answer."""
        if self.matrix is None or name in CARRIERS or name.startswith(CARRYING_MODULES):
            return False
        return any(self._holds(value) for value in values)

    def _holds(self, value: Any) -> bool:
        if type(value) in (list, tuple):
            return any(type(item) is self.matrix for item in value)
        return type(value) is self.matrix

    def call(self, name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
        """Compute; raise ``RefusedSource`` where the layer does not have the operation."""
        if self.apply is None:
            raise RefusedSource(f"{name} of a sparse matrix is not supported here")
        return self.apply(name, tuple(args), dict(kwargs))


@cache
def sparse_layer() -> SparseLayer:
    """The layer of this installation; absent parts are refused where they are used."""
    try:
        matrix = importlib.import_module("app.sparse.matrix").SparseMatrix
    except (ImportError, AttributeError):
        return SparseLayer(None, None)
    try:
        apply = importlib.import_module("app.sparse.sparsify").apply
    except (ImportError, AttributeError):
        apply = None
    return SparseLayer(matrix, apply)
