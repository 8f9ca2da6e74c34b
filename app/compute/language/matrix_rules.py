"""Custom rules of derivatives (``defvjp``, ``defjvp``, ``custom_gradient``) of sparse matrices.

JAX hands a rule the tangent or cotangent of every array of a matrix, and wants such back; for the
integer ones these are placeholders. Rules of a source see and return matrices whose values are
the derivative, at the pattern of the primal one; a dense cotangent is read at its entries. Where
no matrix is sparse nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from app.compute.language.matrix_transforms import at_entries, holds_sparse, on_pattern
from app.compute.programs.leaves import Tree, is_sparse, values_of

Rule = Callable[..., Any]


def defvjp(function: Any, forward: Rule, backward: Rule) -> None:
    """As ``jax.custom_vjp.defvjp``."""
    fixed = frozenset(function.nondiff_argnums)

    def kept_forward(*args: Any) -> Any:
        result, residual = forward(*args)
        inputs = tuple(arg for place, arg in enumerate(args) if place not in fixed)
        shown = (inputs, result) if holds_sparse((inputs, result)) else None
        return result, (residual, shown)

    def checked_backward(*given: Any) -> Any:
        *static, (residual, shown), cotangent = given
        if shown is None:
            return backward(*static, residual, cotangent)
        inputs, result = shown
        pulled = backward(*static, residual, _visible(result, cotangent))
        if not isinstance(pulled, (list, tuple)) or len(pulled) != len(inputs):
            return pulled
        return tuple(map(_placeheld, inputs, pulled))

    function.defvjp(kept_forward, checked_backward)


def defjvp(function: Any, rule: Rule) -> None:
    """As ``jax.custom_jvp.defjvp``."""

    def checked(*given: Any) -> Any:
        *static, primals, tangents = given
        pair = rule(*static, primals, _visible(primals, tangents))
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            return pair
        return pair[0], _placeheld(*pair)

    function.defjvp(checked)


def defjvps(function: Any, *rules: Rule | None) -> None:
    """As ``jax.custom_jvp.defjvps``."""

    def checked(place: int, rule: Rule) -> Rule:
        def each(tangent: Any, result: Any, *primals: Any) -> Any:
            return rule(_visible(primals[place], tangent), result, *primals)

        return each

    function.defjvps(*(rule and checked(place, rule) for place, rule in enumerate(rules)))


@wraps(jax.custom_gradient)
def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*args: Any, **kwargs: Any) -> Any:
        result, pull = fun(*args, **kwargs)
        if not holds_sparse((args, result)):
            return result, pull

        def pulled(cotangent: Any) -> Any:
            given = pull(_visible(result, cotangent))
            parts = given if isinstance(given, (list, tuple)) else (given,)
            if len(parts) != len(args):
                return given
            made = [*map(_placeheld, args, parts)]
            return tuple(made) if len(made) > 1 else made[0]

        return result, pulled

    return jax.custom_gradient(checked)


def _visible(primal: Tree, derivative: Tree) -> Tree:
    """A tangent or cotangent of JAX as matrices on the pattern of the primal ones."""
    if not holds_sparse(primal):
        return derivative
    return on_pattern(primal, values_of(derivative))


def _placeheld(primal: Tree, derivative: Tree) -> Tree:
    """A derivative that a rule returned as JAX wants it; None stays, where it is all there is."""
    if derivative is None or not holds_sparse(primal):
        return derivative
    leaves, treedef = jax.tree.flatten(primal, is_leaf=is_sparse)
    given = treedef.flatten_up_to(derivative)
    return jax.tree.unflatten(treedef, map(_at_primal, leaves, given))


def _at_primal(primal: Any, derivative: Any) -> Any:
    if not is_sparse(primal):
        return derivative
    none = [np.zeros(part.shape, jax.dtypes.float0) for part in (primal.indices, primal.indptr)]
    values = at_entries(primal, derivative)
    return replace(primal, values=values, indices=none[0], indptr=none[1])


OVERRIDES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"jax.custom_gradient": custom_gradient}
)
"""Registry name to the function used in its place."""
