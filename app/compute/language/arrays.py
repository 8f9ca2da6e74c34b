"""Attributes and methods of arrays, each by way of the registered function that does the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import numpy as jnp

from app.compute.language.messages import near
from app.compute.language.values import AtView, DType, Method, Token
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

SAME = {"conj": "conjugate"}
"""Methods whose function in jax.numpy has another name."""
NOT_ARRAYS = {
    "numpy": "leave it out: values stay arrays until they are returned",
    "tolist": "return the array itself",
    "fill": "write jnp.full_like(x, value)",
    "grad": "write jax.grad(f)(x)",
    "detach": "write lax.stop_gradient(x)",
    "view": "write x.reshape(…), or lax.bitcast_convert_type",
}


def attribute(run: Evaluator, array: Any, name: str) -> Any:
    """``array.name``: a fact, a view or a method."""
    if name in FACTS and name in run.registry.array_attributes:
        return FACTS[name](run, array)
    if name in run.registry.array_methods:
        return _method(array, name)
    known = (*run.registry.array_attributes, *run.registry.array_methods)
    raise RefusedSource(
        f"the attribute {name[:60]} of an array is not allowed",
        hint=NOT_ARRAYS.get(name) or near(name, known),
    )


def _method(array: Any, name: str) -> Method:
    special = SPECIAL.get(name)

    def apply(run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if special is not None:
            return special(run, array, args, kwargs)
        function = run.registry.bare[SAME.get(name, name)]
        return run.call(function, [array, *args], kwargs)

    return Method(name, apply)


def _reshape(run: Evaluator, array: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args:
        kwargs = {"shape": args[0] if len(args) == 1 else tuple(args), **kwargs}
    return run.call(run.registry.bare["reshape"], [array], kwargs)


def _transpose(run: Evaluator, array: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args:
        axes = args[0] if len(args) == 1 and type(args[0]) is not int else tuple(args)
        kwargs = {"axes": axes, **kwargs}
    return run.call(run.registry.bare["transpose"], [array], kwargs)


def _unchanged(run: Evaluator, array: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return array


def _item(run: Evaluator, array: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if args or array.size != 1:
        raise InvalidArgument(
            "item() takes the one number of an array of size 1", hint="index it, as in x[0]"
        )
    return run.host("method.item", jnp.reshape, [array, ()])


def _flatten(run: Evaluator, array: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return run.call(run.registry.bare["ravel"], [array, *args], kwargs)


def _shape(run: Evaluator, array: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in array.shape)


FACTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "shape": _shape,
    "ndim": lambda run, array: int(array.ndim),
    "size": lambda run, array: int(array.size),
    "dtype": lambda run, array: DType(str(array.dtype), array.dtype),
    "T": lambda run, array: run.host("attribute.T", jnp.transpose, [array]),
    "mT": lambda run, array: run.host("attribute.mT", jnp.matrix_transpose, [array]),
    "real": lambda run, array: run.host("attribute.real", jnp.real, [array]),
    "imag": lambda run, array: run.host("attribute.imag", jnp.imag, [array]),
    "at": lambda run, array: AtView(run.host("attribute.at", jnp.asarray, [array])),
}
SPECIAL: Mapping[str, Callable[..., Any]] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "flatten": _flatten,
    "copy": _unchanged,
    "block_until_ready": _unchanged,
    "item": _item,
}


def dtype_fact(dtype: DType, name: str) -> Any:
    """``itemsize`` in bytes or ``kind`` as a letter."""
    value = np.dtype(dtype.value)
    return int(value.itemsize) if name == "itemsize" else str(value.kind)


def tree_fact(token: Token, name: str) -> int:
    """How many leaves or nodes a tree structure has."""
    return int(token.value.num_leaves if name == "num_leaves" else token.value.num_nodes)
