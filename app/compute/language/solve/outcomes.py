"""What a function of ``solve`` hands on when it failed: NaN, never a number that looks right."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from app.sparse.solve.soundness import spoiled_where_not


def sound(solution: Any, success: jax.Array) -> Any:
    """``solution``, a tree of arrays, with NaN for every number of it unless ``success``.

    Its derivatives are NaN then too, but where nothing asks for them: ``jnp.where(s.success, s.x,
    0.0)`` has a derivative. Integers stay as they are: they have no NaN.
    """
    return jax.tree.map(lambda leaf: spoiled_where_not(success, jnp.asarray(leaf)), solution)
