"""Normalises what a function returns: nested lists and dicts of arrays, nothing else.

Tuples become lists, Python numbers become arrays, PRNG keys their raw data. An ordered dict, which
stands for a named tuple, stays one: its leaves keep the order of the fields.
"""

from __future__ import annotations

import numbers
from collections import OrderedDict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.compute.programs.leaves import is_sparse
from app.core.errors import LimitExceeded, RefusedSource

MAX_DEPTH = 64


def arrays(value: Any, depth: int = 0) -> Any:
    """``value`` as lists, dicts with string keys, None and arrays; raise ``RefusedSource``."""
    if depth > MAX_DEPTH:
        raise LimitExceeded(f"the result nests deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        kind = OrderedDict if isinstance(value, OrderedDict) else dict
        return kind((_key(name), arrays(branch, depth + 1)) for name, branch in value.items())
    if isinstance(value, (list, tuple)):
        return [arrays(branch, depth + 1) for branch in value]
    if value is None and depth:
        return None
    return _leaf(value)


def _key(name: Any) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, bool) or not isinstance(name, int):
        raise RefusedSource(
            f"a result has the key {name!r:.40}", hint="use strings as keys of a returned dict"
        )
    return str(name)


def _leaf(value: Any) -> Any:
    if is_sparse(value):
        return None if value.dtype == jax.dtypes.float0 else value
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            return jax.random.key_data(jnp.asarray(value))
        if value.dtype == jax.dtypes.float0:
            return None
        return value
    if isinstance(value, numbers.Number):
        try:
            return jnp.asarray(value)
        except OverflowError:
            raise RefusedSource(
                "the function returns an integer that 64 bits cannot hold",
                hint="compute with floats: 2.0**70",
            ) from None
    raise RefusedSource(_refusal(value), hint="return arrays, numbers, or lists and dicts of them")


def _refusal(value: Any) -> str:
    if value is None:
        return "the function returns nothing: a return statement is missing"
    if isinstance(value, str):
        return "the function returns a string"
    if callable(value):
        return "the function returns a function"
    return f"the function returns a {type(value).__name__}"
