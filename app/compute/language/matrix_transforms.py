"""Transforms that take derivatives of functions of sparse matrices, inside a source.

A matrix has integer parts, in which JAX does not differentiate. These forms of ``jax.grad`` and
its like differentiate in the values alone, at the pattern that the matrix has, and are JAX's own
where no argument is sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from types import MappingProxyType
from typing import Any

import jax

from app.compute.programs.leaves import Tree, is_sparse, values_of
from app.core.errors import InvalidArgument, RefusedSource
from app.sparse.matrix import onto, union


def holds_sparse(tree: Tree) -> bool:
    """Whether a tree holds a sparse matrix."""
    return any(map(is_sparse, jax.tree.leaves(tree, is_leaf=is_sparse)))


def on_pattern(tree: Tree, values: Tree) -> Tree:
    """``tree`` holding other values, 0 in the padding of its matrices."""
    return jax.tree.map(
        lambda leaf, value: leaf.with_values(value) if is_sparse(leaf) else value,
        tree,
        values,
        is_leaf=is_sparse,
    )


@wraps(jax.grad)
def grad(fun: Callable[..., Any], argnums: Any = 0, **options: Any) -> Callable[..., Any]:
    return _reverse(jax.grad, fun, argnums, options)


@wraps(jax.value_and_grad)
def value_and_grad(fun: Callable[..., Any], argnums: Any = 0, **options: Any) -> Callable[..., Any]:
    return _reverse(jax.value_and_grad, fun, argnums, options)


def _reverse(
    transform: Callable[..., Any], fun: Callable[..., Any], argnums: Any, options: dict[str, Any]
) -> Callable[..., Any]:
    whole = transform(fun, argnums, **options)
    whole_of_pair = transform is jax.value_and_grad
    aux_beside = options.get("has_aux") and not whole_of_pair

    def derivative(*args: Any, **kwargs: Any) -> Any:
        if not holds_sparse(args):
            return whole(*args, **kwargs)

        def inner(*values: Any, **named: Any) -> Any:
            return fun(*on_pattern(args, values), **named)

        result = transform(inner, argnums, **options)(*values_of(args), **kwargs)
        one = isinstance(argnums, int)
        asked = args[argnums] if one else tuple(args[place] for place in argnums)
        if whole_of_pair:
            return result[0], on_pattern(asked, result[1])
        if aux_beside:
            return on_pattern(asked, result[0]), result[1]
        return on_pattern(asked, result)

    return derivative


@wraps(jax.jvp)
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    if holds_sparse(primals) or holds_sparse(tangents):
        primals, tangents = _on_common_patterns(tuple(primals), tuple(tangents))
    inner = _split(fun, primals, has_aux)
    value, pushed, result = jax.jvp(inner, values_of(primals), values_of(tangents), has_aux=True)
    out = result[0] if has_aux else result
    pair = on_pattern(out, value), on_pattern(out, pushed)
    return (*pair, result[1]) if has_aux else pair


@wraps(jax.vjp)
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, **options: Any) -> Any:
    inner = _split(fun, primals, has_aux)
    value, pull, result = jax.vjp(inner, *values_of(primals), has_aux=True, **options)
    out = result[0] if has_aux else result

    def pulled(cotangent: Any) -> Any:
        leaves, treedef = jax.tree.flatten(out, is_leaf=is_sparse)
        given = treedef.flatten_up_to(cotangent)
        read = [at_entries(leaf, ct) for leaf, ct in zip(leaves, given, strict=True)]
        return on_pattern(primals, pull(jax.tree.unflatten(treedef, read)))

    first = on_pattern(out, value)
    return (first, pulled, result[1]) if has_aux else (first, pulled)


def _split(fun: Callable[..., Any], args: Any, has_aux: bool) -> Callable[..., Any]:
    """``fun`` from values to values, its whole result beside them."""

    def inner(*values: Any) -> Any:
        result = fun(*on_pattern(args, values))
        return values_of(result[0] if has_aux else result), result

    return inner


def _on_common_patterns(primals: Tree, tangents: Tree) -> tuple[Tree, Tree]:
    """Both with each matrix and its direction on one pattern, which holds the cells of either."""
    leaves, treedef = jax.tree.flatten(primals, is_leaf=is_sparse)
    pairs = [_common(x, t) for x, t in zip(leaves, treedef.flatten_up_to(tangents), strict=True)]
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    return jax.tree.unflatten(treedef, first), jax.tree.unflatten(treedef, second)


def _common(primal: Any, tangent: Any) -> tuple[Any, Any]:
    if not is_sparse(primal) and not is_sparse(tangent):
        return primal, tangent
    if not is_sparse(primal) or not is_sparse(tangent) or primal.shape != tangent.shape:
        raise InvalidArgument(
            "the tangent of a sparse matrix is a sparse matrix of its shape, and no other",
            hint="jnp.sign(M) has the pattern of M, jnp.zeros_like(M) holds zeros on it",
        )
    pattern, values, along = union(primal, tangent)
    return replace(pattern, values=values), replace(pattern, values=along.astype(values.dtype))


def at_entries(out: Any, cotangent: Any) -> Any:
    """The values of a cotangent, dense or sparse, in the cells that ``out`` stores."""
    if not is_sparse(out):
        if is_sparse(cotangent):
            raise InvalidArgument("the cotangent of a dense result is dense")
        return cotangent
    if tuple(cotangent.shape) != out.shape:
        raise InvalidArgument(
            f"the cotangent of a {out.shape[0]} x {out.shape[1]} matrix has its shape"
        )
    return onto(out, cotangent).astype(out.dtype)


@wraps(jax.vmap)
def vmap(fun: Callable[..., Any], in_axes: Any = 0, *args: Any, **options: Any) -> Any:
    mapped = jax.vmap(fun, in_axes, *args, **options)

    def checked(*given: Any, **named: Any) -> Any:
        if holds_sparse((given, named)):
            axes = in_axes if isinstance(in_axes, (list, tuple)) else (in_axes,) * len(given)
            jax.tree.map(_check_axis, tuple(axes), given, is_leaf=lambda axis: axis is None)
            jax.tree.map(lambda leaf: _check_axis(0, leaf), named, is_leaf=is_sparse)
        return mapped(*given, **named)

    return checked


def _check_axis(axis: Any, tree: Tree) -> None:
    for leaf in jax.tree.leaves(tree, is_leaf=is_sparse):
        if axis is not None and is_sparse(leaf) and leaf.values.ndim == 1:
            raise RefusedSource(
                "vmap does not walk over the rows of a sparse matrix",
                hint="map over other arguments with in_axes=(None, 0), write products such as "
                "M @ X, or map over M.todense()",
            )


def _dense_only(transform: Callable[..., Any]) -> Callable[..., Any]:
    """``transform``, refusing matrices among what it differentiates in."""

    @wraps(transform)
    def made(fun: Callable[..., Any], argnums: Any = 0, **options: Any) -> Callable[..., Any]:
        whole = transform(fun, argnums, **options)

        def derivative(*args: Any, **kwargs: Any) -> Any:
            places = (argnums,) if isinstance(argnums, int) else argnums
            if holds_sparse([args[at] for at in places if -len(args) <= at < len(args)]):
                raise RefusedSource(
                    f"jax.{transform.__name__} does not differentiate in a sparse matrix",
                    hint="jax.grad, jax.jvp and jax.vjp do; a Hessian times a direction V is "
                    "jax.jvp(jax.grad(f), (M,), (V,))[1]",
                )
            return whole(*args, **kwargs)

        return derivative

    return made


OVERRIDES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "jax.grad": grad,
        "jax.value_and_grad": value_and_grad,
        "jax.jvp": jvp,
        "jax.vjp": vjp,
        "jax.vmap": vmap,
        **{
            f"jax.{name}": _dense_only(getattr(jax, name))
            for name in ("jacfwd", "jacrev", "jacobian", "hessian")
        },
    }
)
"""Registry name to the function used in its place."""
