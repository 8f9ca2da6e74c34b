"""Expressions: one small function a kind of syntax node, in the table ``EVALUATE``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.compute.language import closures, guard, operators, sizes, targets
from app.compute.language.attributes import attribute
from app.compute.language.describe import describe, text_of
from app.compute.language.lookup import lookup
from app.compute.language.scope import Scope
from app.compute.language.subscripts import subscript
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


def _constant(run: Evaluator, node: ast.Constant, scope: Scope) -> Any:
    return run.enter(node.value)


def _name(run: Evaluator, node: ast.Name, scope: Scope) -> Any:
    return lookup(run.registry, scope, node.id)


def _tuple(run: Evaluator, node: ast.Tuple, scope: Scope) -> Any:
    return tuple(_items(run, node.elts, scope))


def _list(run: Evaluator, node: ast.List, scope: Scope) -> Any:
    return _items(run, node.elts, scope)


def _items(run: Evaluator, nodes: list[ast.expr], scope: Scope) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found.extend(targets.items_of(run, run.evaluate(node.value, scope)))
        else:
            found.append(run.evaluate(node, scope))
    sizes.checked_length(run, len(found))
    return found


def _dict(run: Evaluator, node: ast.Dict, scope: Scope) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        item = run.evaluate(value, scope)
        if key is not None:
            found[guard.enter_key(run, run.evaluate(key, scope))] = item
        elif type(item) is dict:
            found.update(item)
        else:
            raise InvalidArgument(f"** takes a dict, not {describe(item)}")
        sizes.checked_length(run, len(found))
    return found


def _binary(run: Evaluator, node: ast.BinOp, scope: Scope) -> Any:
    """The left operands are walked in a loop, so that long sums need no stack."""
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        run.meter.step()
        chain.append(chain[-1].left)
    value = run.evaluate(chain[-1].left, scope)
    for inner in reversed(chain):
        right = run.evaluate(inner.right, scope)
        try:
            value = operators.binary(run, type(inner.op), value, right)
        except (InvalidArgument, RefusedSource) as error:
            raise run.placed(error, inner) from None
    return value


def _unary(run: Evaluator, node: ast.UnaryOp, scope: Scope) -> Any:
    value = run.evaluate(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return not operators.truth(run, value)
    return operators.unary(run, type(node.op), value)


def _boolean(run: Evaluator, node: ast.BoolOp, scope: Scope) -> Any:
    wanted = isinstance(node.op, ast.Or)
    value = None
    for operand in node.values[:-1]:
        value = run.evaluate(operand, scope)
        if truth_of(run, operand, value) == wanted:
            return value
    return run.evaluate(node.values[-1], scope)


def truth_of(run: Evaluator, node: ast.expr, value: Any) -> bool:
    """The truth of a value; a refusal points at the expression that it came from."""
    try:
        return operators.truth(run, value)
    except (InvalidArgument, RefusedSource) as error:
        raise run.placed(error, node) from None


def _compare(run: Evaluator, node: ast.Compare, scope: Scope) -> Any:
    left = run.evaluate(node.left, scope)
    result: Any = True
    for index, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = run.evaluate(comparator, scope)
        result = operators.compare(run, type(op), left, right)
        if index + 1 < len(node.ops) and not _chained(run, result):
            return result
        left = right
    return result


def _chained(run: Evaluator, value: Any) -> bool:
    if guard.is_traced(value):
        raise RefusedSource(
            "a chain of comparisons is decided by Python, but the values are known only when the "
            "program runs",
            hint="write (a < b) & (b < c)",
        )
    return operators.truth(run, value)


def _conditional(run: Evaluator, node: ast.IfExp, scope: Scope) -> Any:
    test = truth_of(run, node.test, run.evaluate(node.test, scope))
    return run.evaluate(node.body if test else node.orelse, scope)


def _lambda(run: Evaluator, node: ast.Lambda, scope: Scope) -> Any:
    return closures.make(run, node, scope)


def _slice(run: Evaluator, node: ast.Slice, scope: Scope) -> Any:
    bounds = [
        None if bound is None else run.evaluate(bound, scope)
        for bound in (node.lower, node.upper, node.step)
    ]
    for bound in bounds:
        static = bound is None or type(bound) in guard.NUMBERS
        if not static and not guard.is_array(bound):
            raise InvalidArgument(f"{describe(bound)} cannot bound a slice")
    return slice(*bounds)


def _subscript(run: Evaluator, node: ast.Subscript, scope: Scope) -> Any:
    return subscript(run, run.evaluate(node.value, scope), run.evaluate(node.slice, scope))


def _attribute(run: Evaluator, node: ast.Attribute, scope: Scope) -> Any:
    return attribute(run, run.evaluate(node.value, scope), node.attr)


def _named(run: Evaluator, node: ast.NamedExpr, scope: Scope) -> Any:
    value = run.evaluate(node.value, scope)
    scope.bind_from_comprehension(node.target.id, value)
    return value


def _call(run: Evaluator, node: ast.Call, scope: Scope) -> Any:
    function = run.evaluate(node.func, scope)
    args = _items(run, node.args, scope)
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value, scope)
        if keyword.arg is not None:
            _add_keyword(kwargs, keyword.arg, value)
        elif type(value) is dict:
            for name, item in value.items():
                _add_keyword(kwargs, name, item)
        else:
            raise InvalidArgument(f"** takes a dict, not {describe(value)}")
    return run.call(function, args, kwargs)


def _add_keyword(kwargs: dict[str, Any], name: Any, value: Any) -> None:
    if type(name) is not str or name.startswith("_"):
        raise RefusedSource("this name of an argument is not allowed", hint="use a plain name")
    if name in kwargs:
        raise InvalidArgument(f"the argument {name[:60]} is given twice")
    kwargs[name] = value


def _formatted(run: Evaluator, node: ast.JoinedStr, scope: Scope) -> Any:
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            parts.append(text_of(run.evaluate(part.value, scope)))
    return sizes.checked_text(run, "".join(parts))


def _comprehension(
    run: Evaluator,
    generators: list[ast.comprehension],
    scope: Scope,
    emit: Callable[[Scope], None],
) -> None:
    inner = Scope(scope, inner=True)
    _loop(run, generators, 0, scope, inner, emit)


def _loop(
    run: Evaluator,
    generators: list[ast.comprehension],
    index: int,
    outer: Scope,
    inner: Scope,
    emit: Callable[[Scope], None],
) -> None:
    if index == len(generators):
        emit(inner)
        return
    generator = generators[index]
    over = run.evaluate(generator.iter, inner if index else outer)
    for item in targets.items_of(run, over):
        run.meter.step()
        targets.assign(run, generator.target, item, inner)
        if all(truth_of(run, test, run.evaluate(test, inner)) for test in generator.ifs):
            _loop(run, generators, index + 1, outer, inner, emit)


def _list_comprehension(run: Evaluator, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Any:
    found: list[Any] = []

    def emit(inner: Scope) -> None:
        found.append(run.evaluate(node.elt, inner))
        sizes.checked_length(run, len(found) if len(found) > run.limits.sequence else 0)

    _comprehension(run, node.generators, scope, emit)
    return found


def _dict_comprehension(run: Evaluator, node: ast.DictComp, scope: Scope) -> Any:
    found: dict[Any, Any] = {}

    def emit(inner: Scope) -> None:
        key = guard.enter_key(run, run.evaluate(node.key, inner))
        found[key] = run.evaluate(node.value, inner)
        sizes.checked_length(run, len(found) if len(found) > run.limits.sequence else 0)

    _comprehension(run, node.generators, scope, emit)
    return found


EVALUATE: dict[type, Callable[[Any, Any, Scope], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    ast.Slice: _slice,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.NamedExpr: _named,
    ast.Call: _call,
    ast.JoinedStr: _formatted,
    ast.ListComp: _list_comprehension,
    ast.GeneratorExp: _list_comprehension,
    ast.DictComp: _dict_comprehension,
}
