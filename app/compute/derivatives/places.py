"""Indexing by values known only at run time: a place outside the array reads NaN, not a neighbour.

JAX clamps such an index to the nearest entry. Integers read their most negative value (unsigned:
the largest), booleans true, as JAX's ``mode="fill"`` has it.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def getitem(array: Any, index: Any) -> Any:
    """``array[index]``."""
    entries = index if isinstance(index, tuple) else (index,)
    if not any(map(_is_place, entries)):
        return operator.getitem(array, index)
    return jnp.asarray(array).at[index].get(mode="fill")


def _is_place(entry: Any) -> bool:
    """An index by value: an integer array or a traced integer."""
    if not isinstance(entry, (jax.Array, np.ndarray, np.generic)):
        return False
    return bool(jnp.issubdtype(entry.dtype, jnp.integer))
