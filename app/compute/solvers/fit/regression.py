"""``fit``: reads the call; a named model on X and y, or the client's own loss and an optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.calls import results
from app.compute.calls.call import Call
from app.compute.programs.leaves import is_sparse
from app.compute.solvers import options as read
from app.compute.solvers.fit.family import MODELS, Family
from app.compute.solvers.fit.linear_models import Regression
from app.compute.solvers.fit.optimisers import OPTIMISERS, optimiser
from app.compute.solvers.fit.sparse_models import SparseRegression
from app.compute.solvers.fit.training import Trainer
from app.compute.solvers.machine import Machine
from app.compute.solvers.seed import seed
from app.compute.solvers.unknowns import require_real
from app.core.errors import InvalidArgument

OF_A_MODEL = {
    "l2": "it may be part of the loss",
    "intercept": "it may be one of the parameters",
    "max_steps": "epochs says how long a loss is trained",
}
OF_A_LOSS = (
    "method", "options", "epochs", "batch_size", "validation_split", "patience", "seed", "wrt"
)  # fmt: skip


def build(call: Call) -> Machine:
    """The machine of a call; a field of the other kind of fit is refused, not passed over."""
    if call.options.get("model") is not None:
        read.unused(call, OF_A_LOSS, "means nothing to a named model", "leave it out, or model")
        return _named(call)
    for name, hint in OF_A_MODEL.items():
        read.unused(call, (name,), "means nothing to a loss of your own", hint)
    return _trainer(call)


def _named(call: Call) -> Regression | SparseRegression:
    """A named model; ``args`` are X (m, n) and y (m,)."""
    model = read.one_of(call.options, "model", MODELS, "linear")
    if len(call.args) != 2 or not all(hasattr(arg, "shape") for arg in call.args):
        raise InvalidArgument("a named model takes X and y", pointer="/args")
    x, y = call.args
    if is_sparse(y) or len(x.shape) != 2 or y.shape != x.shape[:1] or 0 in x.shape:
        raise InvalidArgument(
            f"X has shape {list(x.shape)} and y {list(y.shape)}",
            pointer="/args",
            hint="X is (rows, columns), y has one number a row",
        )
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise InvalidArgument(f"X is {x.dtype}: floating numbers are needed", pointer="/args")
    if jnp.issubdtype(y.dtype, jnp.complexfloating):
        raise InvalidArgument(f"y is {y.dtype}: real numbers are needed", pointer="/args")
    l2 = call.options.get("l2", 1.0 if model == "ridge" else 0.0)
    if isinstance(l2, bool) or not isinstance(l2, (int, float)) or not 0 <= l2 < jnp.inf:
        raise InvalidArgument("l2 is zero or a positive number", pointer="/l2")
    intercept = bool(call.options.get("intercept", True))
    steps = read.count(call.options, "max_steps", 200)
    kind = SparseRegression if is_sparse(x) else Regression
    return kind(Family(model), x, y.astype(x.dtype), float(l2), intercept, steps)


def _trainer(call: Call) -> Trainer:
    """The client's loss(parameters, *data); data have rows in front; ``wrt`` the parameters."""
    if not call.wrt.single or call.wrt.positions != (0,):
        raise InvalidArgument("fit trains the first argument", pointer="/wrt")
    require_real(call)
    parameters, *data = call.args
    count = _rows(data)
    given = call.options
    sparse = any(map(is_sparse, jax.tree.leaves(data, is_leaf=is_sparse)))
    held = _held(given, count)
    batch = min(read.count(given, "batch_size", count if sparse else 32), count - held)
    if sparse and (held or batch < count):
        raise InvalidArgument(
            "rows of a sparse matrix are not taken apart: every batch is all of the data",
            pointer="/batch_size" if batch < count else "/validation_split",
            hint="leave out batch_size and validation_split",
        )
    epochs = read.count(given, "epochs", 10)
    name = read.one_of(given, "method", tuple(OPTIMISERS), "adam")
    steps = epochs * -(-(count - held) // batch)
    settings: Mapping[str, Any] = given.get("options") or {}
    patience = read.count(given, "patience", 1) if "patience" in given else None

    def loss(parameters: Any, rows: Any) -> Any:
        value = results.arrays(call.function(parameters, *rows))
        if not hasattr(value, "shape") or not jnp.issubdtype(value.dtype, jnp.floating):
            raise InvalidArgument("the loss is one real number, or one a row", pointer="/function")
        return jnp.mean(value)

    key = seed(call)
    order = jax.random.permutation(jax.random.fold_in(key, 0), count) if held else jnp.arange(count)
    return Trainer(
        loss, parameters, data, count, optimiser(name, settings, steps), batch, epochs, held,
        order, patience, key,
    )  # fmt: skip


def _rows(data: list[Any]) -> int:
    leaves = jax.tree.leaves(data, is_leaf=is_sparse)
    rows = {tuple(leaf.shape[:1]) for leaf in leaves}
    if len(rows) != 1 or rows == {()} or rows == {(0,)}:
        raise InvalidArgument(
            "the arguments after the parameters are data: arrays with one row an example",
            pointer="/args",
        )
    ((count,),) = rows
    return count


def _held(given: Mapping[str, Any], count: int) -> int:
    share = given.get("validation_split", 0.0)
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
        raise InvalidArgument("validation_split is in [0, 1)", pointer="/validation_split")
    held = min(int(share * count), count - 1)
    if share and not held:
        raise InvalidArgument(
            f"validation_split {share:g} of {count} rows holds none back",
            pointer="/validation_split",
            hint="leave it out, or send more rows or a larger part of them",
        )
    return held
