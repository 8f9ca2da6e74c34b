"""Keeps the branch that a ``where`` discards from spoiling its derivative.

``where(x > 0, log(x), 0)`` has a gradient of 0 at x = 0, yet the chain rule multiplies the zero
that reaches ``log`` by its infinite slope. The known cure is written by hand twice: feed the
operation a harmless number wherever its result is discarded. Here it is done on the traced
function, for operations that reach one branch of one ``where`` and nothing else; no value that is
kept changes, nor any derivative that was finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import source_info_util
from jax.extend import core as jex

HARMLESS: Mapping[str, tuple[int, float]] = {
    **dict.fromkeys(("log", "sqrt", "rsqrt", "cbrt", "lgamma", "digamma", "pow", "_power"), (0, 1)),
    **dict.fromkeys(("exp", "exp2", "sinh", "cosh", "tan", "log1p", "_exp2", "_expm1"), (0, 0)),
    **dict.fromkeys(("expm1", "asin", "acos", "atanh", "erf_inv"), (0, 0)),
    "acosh": (0, 2),
    "integer_pow": (0, 1),
    "div": (1, 1),
}
"""Operations with an unbounded slope: which operand to replace, and by what."""

ELEMENTWISE = frozenset(
    "abs add add_any sub mul neg sign max min square convert_element_type copy stop_gradient "
    "tanh sin cos logistic erf erfc real imag conj select_n clamp floor ceil round atan2 atan "
    "asinh is_finite rem nextafter".split()
) | frozenset(HARMLESS)
"""Operations whose result at a place depends on their operands at that place alone."""

MAX_WORK = 2_000_000
WRAPPERS = frozenset({"convert_element_type", "broadcast_in_dim", "select_n"})


@dataclass(eq=False)
class Node:
    """One equation over keys: variables of the program, or of a ``where`` opened in place."""

    equation: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    scope: Any
    guards: list[tuple[Any, bool]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The operation; for a rule of ours the function's own name."""
        name = self.equation.primitive.name
        if name == "custom_jvp_call":
            return self.equation.params["call_jaxpr"].jaxpr.debug_info.func_name
        return name


class Guarded:
    """A closed jaxpr to be called on flat leaves, with discarded branches made harmless."""

    def __init__(self, closed: jex.ClosedJaxpr) -> None:
        self._closed = closed
        self._nodes = list(_nodes(closed.jaxpr))
        outputs = {var for var in closed.jaxpr.outvars if not isinstance(var, jex.Literal)}
        _guard(self._nodes, outputs)
        self._plain = not any(node.guards for node in self._nodes)
        self._order = [] if self._plain else _ordered(self._nodes)

    def __call__(self, *leaves: Any) -> list[Any]:
        if self._plain:
            return jex.jaxpr_as_fun(self._closed)(*leaves)
        jaxpr = self._closed.jaxpr
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, self._closed.consts, strict=True))
        env.update(zip(jaxpr.invars, leaves, strict=True))
        for node in self._order:
            _evaluate(node, env)
        return [_read(var, env) for var in jaxpr.outvars]


def _nodes(jaxpr: Any) -> Iterator[Node]:
    """The equations in order, those of ``jnp.where`` opened in place."""
    for equation in jaxpr.eqns:
        scope = equation.source_info.name_stack
        inner = _where_body(equation)
        if inner is None:
            yield Node(equation, tuple(equation.invars), tuple(equation.outvars), scope)
            continue
        names = dict(zip(inner.invars, equation.invars, strict=True))
        names.update(zip(inner.outvars, equation.outvars, strict=True))
        for step in inner.eqns:
            inputs = tuple(_renamed(var, names, equation) for var in step.invars)
            outputs = tuple(_renamed(var, names, equation) for var in step.outvars)
            yield Node(step, inputs, outputs, scope + step.source_info.name_stack)


def _renamed(var: Any, names: dict[Any, Any], equation: Any) -> Any:
    if isinstance(var, jex.Literal):
        return var
    return names.setdefault(var, (id(equation), var))


def _where_body(equation: Any) -> Any:
    """The jaxpr inside a jitted ``where``: nothing but casts, broadcasts and one choice."""
    if equation.primitive.name not in ("jit", "pjit"):
        return None
    closed = equation.params["jaxpr"]
    names = [step.primitive.name for step in closed.jaxpr.eqns]
    made = {var for step in closed.jaxpr.eqns for var in step.outvars}
    outs = closed.jaxpr.outvars
    if closed.consts or names.count("select_n") != 1 or not set(names) <= WRAPPERS:
        return None
    return closed.jaxpr if len(set(outs)) == len(outs) and set(outs) <= made else None


def _guard(nodes: Sequence[Node], kept: set[Any]) -> None:
    """Mark each singular operation that only a discarded branch would use."""
    makers = {key: node for node in nodes for key in node.outputs}
    users: dict[Any, list[Node]] = {}
    for node in nodes:
        for key in node.inputs:
            if not isinstance(key, jex.Literal):
                users.setdefault(key, []).append(node)
    choices = [node for node in nodes if node.name == "select_n" and len(node.inputs) == 3]
    if len(choices) * len(nodes) > MAX_WORK:
        return
    for choice in choices:
        predicate, *cases = choice.inputs
        if isinstance(predicate, jex.Literal) or _aval(predicate).dtype != bool:
            continue
        before = _ancestors(predicate, makers)
        for taken, case in zip((False, True), cases, strict=True):
            for node in _cone(case, choice, makers, users, kept):
                if node.name in HARMLESS and node not in before:
                    node.guards.append((predicate, taken))


def _ancestors(key: Any, makers: Mapping[Any, Node]) -> set[Node]:
    found: set[Node] = set()
    pending = [key]
    while pending:
        node = makers.get(pending.pop())
        if node is not None and node not in found:
            found.add(node)
            pending += [key for key in node.inputs if not isinstance(key, jex.Literal)]
    return found


def _cone(
    case: Any,
    choice: Node,
    makers: Mapping[Any, Node],
    users: Mapping[Any, list[Node]],
    kept: set[Any],
) -> list[Node]:
    """The operations, place by place, whose every use ends in this one branch."""
    shape = _aval(choice.outputs[0]).shape
    if isinstance(case, jex.Literal) or choice.inputs.count(case) != 1:
        return []
    within: set[Node] = set()
    found: list[Node] = []
    pending = [case]
    while pending:
        key = pending.pop()
        node = makers.get(key)
        if node is None or node in within or node.name not in ELEMENTWISE:
            continue
        if any(_aval(out).shape != shape or out in kept for out in node.outputs):
            continue
        allowed = within | {choice}
        if not all(user in allowed for out in node.outputs for user in users.get(out, ())):
            continue
        within.add(node)
        found.append(node)
        pending += [key for key in node.inputs if not isinstance(key, jex.Literal)]
    return found


def _aval(key: Any) -> Any:
    return key[1].aval if isinstance(key, tuple) else key.aval


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """The nodes so that each follows what it reads, guards included; else as they stood."""
    makers = {key: node for node in nodes for key in node.outputs}
    done: set[Node] = set()
    order: list[Node] = []
    for first in nodes:
        stack = [first]
        while stack:
            node = stack[-1]
            needs = [*node.inputs, *(predicate for predicate, _ in node.guards)]
            above = [
                makers[key]
                for key in needs
                if not isinstance(key, jex.Literal) and key in makers and makers[key] not in done
            ]
            if node not in done and above:
                stack.extend(above)
                continue
            stack.pop()
            if node not in done:
                done.add(node)
                order.append(node)
    return order


def _evaluate(node: Node, env: dict[Any, Any]) -> None:
    """Run one equation in its scope, its singular operand replaced where it is discarded."""
    equation = node.equation
    params = equation.primitive.get_bind_params(equation.params)
    stack = source_info_util.current_name_stack() + node.scope
    trace = equation.source_info.traceback
    with source_info_util.user_context(trace, name_stack=stack), equation.ctx.manager:
        inputs = [_read(key, env) for key in node.inputs]
        if node.guards:
            place, harmless = HARMLESS[node.name]
            inputs[place] = _made_harmless(node, jnp.asarray(inputs[place]), harmless, env)
        outputs = equation.primitive.bind(*inputs, **params)
    made = outputs if equation.primitive.multiple_results else [outputs]
    env.update(zip(node.outputs, made, strict=True))


def _made_harmless(node: Node, operand: Any, harmless: float, env: Mapping[Any, Any]) -> Any:
    shape = _aval(node.outputs[0]).shape
    if operand.shape != shape:
        operand = jnp.broadcast_to(operand, shape)
    constant = jnp.full(shape, harmless, operand.dtype)
    for predicate, taken in node.guards:
        chosen = jnp.broadcast_to(env[predicate], shape)
        pair = (operand, constant) if taken else (constant, operand)
        operand = jax.lax.select(chosen, *pair)
    return operand


def _read(key: Any, env: Mapping[Any, Any]) -> Any:
    return key.val if isinstance(key, jex.Literal) else env[key]
