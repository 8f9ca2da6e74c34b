"""Sparse Jacobians and Hessians of a staged function, planned before it is traced.

The derivative is in one dense argument, flattened, of one result, flattened: a matrix of
(result entries) x (argument entries). The plan depends on shapes alone and is part of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from app.compute.calls.call import Call
from app.compute.programs.leaves import is_sparse
from app.core.errors import InvalidArgument
from app.core.values import SparseValue
from app.sparse.canonical import Canonical
from app.sparse.ingest import ingest
from app.sparse.jacobian import Plan, hessian, jacobian, plan_hessian, plan_jacobian
from app.sparse.matrix import SparseMatrix

PATTERN_PARTS = {"coo": ("row", "col"), "csr": ("indptr", "indices"), "csc": ("indptr", "indices")}


def wanted(options: Mapping[str, Any]) -> bool:
    """Whether the client asked for a sparse derivative."""
    return bool(options.get("sparse", False))


def plan(call: Call, verb: str) -> Plan | None:
    """The plan of a jacobian or hessian call over abstract values; ``None`` for a dense one."""
    if not wanted(call.options):
        return None
    call.require_differentiable()
    x = _unknown(call)
    leaves, treedef = jax.tree.flatten(list(call.args))
    place = next(at for at, leaf in enumerate(leaves) if leaf is x)
    others = [leaf for at, leaf in enumerate(leaves) if at != place]

    def function(flat: jax.Array, *rest: jax.Array) -> jax.Array:
        filled = [*rest[:place], flat.reshape(x.shape), *rest[place:]]
        return _flat(call.staged(*jax.tree.unflatten(treedef, filled)))

    pattern = _pattern(call.options["sparse"], _shape(call, x, verb))
    flat = jax.ShapeDtypeStruct((x.size,), x.dtype)
    if verb == "hessian":
        call.require_scalar(verb)
        return plan_hessian(_scalar(function), flat, *others, pattern=pattern)
    mode = call.options.get("mode") or "auto"
    return plan_jacobian(function, flat, *others, mode=mode, pattern=pattern)


def compute(call: Call, made: Plan, verb: str) -> SparseMatrix:
    """The sparse derivative by its plan, inside the trace."""
    x = _unknown(call)

    def function(flat: jax.Array) -> jax.Array:
        return _flat(call.at(flat.reshape(x.shape)))

    flat = x.reshape(-1)
    if verb == "hessian":
        return hessian(made, _scalar(function), flat)
    return jacobian(made, function, flat)


def _unknown(call: Call) -> Any:
    """The one dense array that ``wrt`` names."""
    leaves = jax.tree.leaves(call.args[call.wrt.positions[0]], is_leaf=is_sparse)
    if not call.wrt.single or len(leaves) != 1 or is_sparse(leaves[0]):
        raise InvalidArgument(
            "a sparse derivative is taken in one dense array",
            pointer="/wrt",
            hint="name one argument that is an array, not a list, an object or a matrix",
        )
    return leaves[0]


def _flat(tree: Any) -> jax.Array:
    leaves = jax.tree.leaves(tree, is_leaf=is_sparse)
    if len(leaves) != 1 or is_sparse(leaves[0]):
        raise InvalidArgument(
            "a sparse derivative is that of one dense result",
            pointer="/function",
            hint="return one array: jnp.concatenate puts several together",
        )
    return jnp.ravel(leaves[0])


def _scalar(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    return lambda *args: function(*args)[0]


def _shape(call: Call, x: Any, verb: str) -> tuple[int, int]:
    rows = x.size if verb == "hessian" else sum(y.size for y in jax.tree.leaves(call.staged.out))
    return rows, x.size


def _pattern(given: Any, shape: tuple[int, int]) -> Canonical | None:
    """The client's own pattern, checked; its pointers start at ``/sparse``."""
    if given is True:
        return None
    layout = given.get("layout", "coo") if isinstance(given, Mapping) else None
    names: Sequence[str] = PATTERN_PARTS.get(str(layout), ())
    if not names or not set(names) <= set(given) <= {"layout", "shape", *names}:
        raise InvalidArgument(
            "sparse is true, or the pattern of the derivative",
            pointer="/sparse",
            hint='like {"layout": "coo", "row": [0, 1], "col": [0, 2]}',
        )
    parts = {name: _indices(given[name], name) for name in names}
    count = len(parts["indices" if "indices" in parts else "row"])
    value = SparseValue(
        str(layout), tuple(given.get("shape", shape)), {**parts, "values": np.ones(count)}
    )
    try:
        return ingest(value)
    except InvalidArgument as misfit:
        pointer = "/sparse" + (misfit.pointer or "")
        raise InvalidArgument(misfit.detail, pointer=pointer, hint=misfit.hint) from None


def _indices(given: Any, name: str) -> np.ndarray:
    if not isinstance(given, list) or not set(map(type, given)) <= {int}:
        raise InvalidArgument(f"{name} is a list of integers", pointer=f"/sparse/{name}")
    return np.array(given, np.int64)
