"""Assignment targets, and what may be iterated over."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, sizes
from app.compute.language.describe import describe
from app.compute.language.messages import shown
from app.compute.language.records import Record
from app.compute.language.scope import Scope
from app.core.errors import InvalidArgument, LimitExceeded, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

UPDATES = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


def items_of(run: Evaluator, value: Any) -> list[Any]:
    """The items of a static container or the rows of an array, as a new list; each is charged."""
    kind = type(value)
    if kind is Record and value.type.is_tuple:
        value, kind = value.values, tuple
    if kind in (list, tuple, str, dict):
        run.meter.step(len(value) // 4)
        return list(value)
    if kind is range:
        sizes.checked_range(run, value)
        return list(value)
    if guard.is_array(value) or run.sparse.is_sparse(value):
        return _rows(run, value)
    raise InvalidArgument(f"{describe(value)} cannot be iterated over")


def _rows(run: Evaluator, array: Any) -> list[Any]:
    if run.sparse.is_sparse(array):
        raise RefusedSource("a Python loop over a sparse matrix", hint="write A @ x")
    if array.ndim == 0:
        raise InvalidArgument(
            "a single number cannot be iterated over or unpacked",
            hint="send an array, or use the number as it is",
        )
    if array.shape[0] > run.limits.loop_over_array:
        raise LimitExceeded(
            f"a Python loop over an axis of {array.shape[0]} entries is traced one by one",
            hint="use jax.vmap or lax.scan, or one operation on the whole array",
        )
    run.meter.step(array.shape[0])
    return [run.enter(row) for row in run.host("operator.getitem", list, [array])]


def assign(run: Evaluator, target: ast.expr, value: Any, scope: Scope) -> None:
    """Bind a value to a name, to a pattern of names, or to an item of a list or dict."""
    if isinstance(target, ast.Name):
        scope.bind(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(run, target, value, scope)
    elif isinstance(target, ast.Subscript):
        _set_item(run, target, value, scope)
    elif isinstance(target, ast.Starred):
        assign(run, target.value, value, scope)
    else:
        raise RefusedSource("assigning to this is not allowed", hint="assign to a name")


def _unpack(run: Evaluator, target: ast.Tuple | ast.List, value: Any, scope: Scope) -> None:
    try:
        items = items_of(run, value)
    except (InvalidArgument, LimitExceeded) as error:
        raise run.placed(error, target) from None
    wanted = target.elts
    starred = [index for index, part in enumerate(wanted) if isinstance(part, ast.Starred)]
    if starred:
        first, after = starred[0], len(wanted) - starred[0] - 1
        if len(items) < len(wanted) - 1:
            raise _miscounted(run, target, f"at least {len(wanted) - 1}", len(items))
        middle = items[first : len(items) - after]
        items = [*items[:first], middle, *items[len(items) - after :]]
    elif len(items) != len(wanted):
        raise _miscounted(run, target, str(len(wanted)), len(items))
    for part, item in zip(wanted, items, strict=True):
        assign(run, part, item, scope)


def _miscounted(run: Evaluator, target: ast.expr, wanted: str, got: int) -> InvalidArgument:
    error = InvalidArgument(f"{wanted} values are needed to unpack here, but there are {got}")
    run.placed(error, target)
    return error


def _set_item(run: Evaluator, target: ast.Subscript, value: Any, scope: Scope) -> None:
    container = run.evaluate(target.value, scope)
    if type(container) is dict:
        container[guard.enter_key(run, run.evaluate(target.slice, scope))] = value
        sizes.checked_length(run, len(container))
    elif type(container) is list:
        index = run.evaluate(target.slice, scope)
        if type(index) not in (int, bool):
            raise InvalidArgument(
                "an item of a list is assigned by a static integer",
                hint="use an array and x.at[index].set(value)",
            )
        try:
            container[index] = value
        except IndexError:
            raise InvalidArgument(f"the list has {len(container)} items, no item {index}") from None
    else:
        raise immutable(container, target)


def immutable(container: Any, target: ast.Subscript, update: type | None = None) -> RefusedSource:
    """The refusal to assign into an array, with the line that does what was meant."""
    if guard.is_array(container):
        name, index = shown(ast.unparse(target.value)), shown(ast.unparse(target.slice))
        method = UPDATES.get(update, "set") if update is not None else "set"
        return RefusedSource(
            "arrays do not change: assigning to an item of one is not allowed",
            hint=f"write {name} = {name}.at[{index}].{method}(…)",
        )
    return RefusedSource(
        f"assigning to an item of {describe(container)} is not allowed",
        hint="use a list or a dict",
    )
