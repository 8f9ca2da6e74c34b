"""Dense-looking code on sparse matrices: one entry, ``apply``, and a table of what it can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.errors import RefusedSource
from app.sparse.sparsify import (
    binary,
    choose,
    joins,
    linear,
    products,
    reductions,
    structure,
    subscript,
    unary,
)
from app.sparse.sparsify.refusals import first_matrix, kept_names, unknown

TABLE: Mapping[str, Any] = {
    **unary.TABLE,
    **binary.TABLE,
    **choose.TABLE,
    **reductions.TABLE,
    **products.TABLE,
    **structure.TABLE,
    **subscript.TABLE,
    **joins.TABLE,
    **linear.TABLE,
}
"""From an operation's last name (``operator.add`` and ``jnp.add`` are both ``add``) to ours."""


LAX: Mapping[str, Any] = {
    "max": TABLE["maximum"],
    "min": TABLE["minimum"],
    "select": TABLE["where"],
    "rem": TABLE["mod"],
}
"""Names that mean something else in ``jax.lax`` than in NumPy."""


def apply(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The value of an operation that has a SparseMatrix among its arguments.

    Raises RefusedSource where it would fill the zeros, or is not in the table.
    """
    matrix = first_matrix((*args, *kwargs.values()))
    if matrix is not None and matrix.values.ndim != 1:
        raise RefusedSource(
            f"{name} does not take a batch of sparse matrices",
            hint="write the function for one matrix and map over the batch: jax.vmap(f)(M)",
        )
    family, _, last = name.rpartition(".")
    operation = TABLE.get(f"attribute.{last}" if family == "attribute" else last)
    if family in ("lax", "jax.lax"):
        operation = LAX.get(last, operation)
    if operation is None:
        raise unknown(name, args, kwargs, TABLE)
    try:
        return operation(*args, **kept_names(kwargs))
    except TypeError as error:
        raise RefusedSource(f"{name} of a sparse matrix: {str(error)[:300]}") from None
