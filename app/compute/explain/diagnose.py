"""Finds the operations that first made a not-a-number or an infinity that reached the result.

Runs the traced program one operation at a time on the actual inputs, then walks back from the
results: a value that a ``where`` discards is not blamed. Nested programs and loops are entered
only where the blame lies in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex

from app.compute.explain import lines
from app.compute.programs import bounds
from app.core.errors import LimitExceeded

MAX_FINDINGS = 5
MAX_SUSPECTS = 64
MAX_DEPTH = 32
NO_SOLUTION = "no solution was found; full=True tells how it ended"
NO_DERIVATIVE = "its derivative does not exist there, or could not be solved for"


def diagnose(closed: Any, leaves: Sequence[Any], budget: int) -> list[dict[str, Any]]:
    """The first guilty operations in program order; empty when the results are finite.

    Each: line, role, operation, index (into its result), inputs and value there, message. Raise
    ``LimitExceeded`` past ``budget`` operations.
    """
    values = [jax.numpy.asarray(leaf) for leaf in leaves]
    steps = Budget(budget)
    findings = _blame(Body(closed.jaxpr, tuple(closed.consts)), values, "", steps, 0)
    reversals = lines.reversals(scope for _, scope in bounds.equations(closed.jaxpr))
    told: dict[str, dict[str, Any]] = {}
    for finding in findings:
        said = finding.to_wire(reversals)
        # a solver that failed is one finding a line and role, however many of its operations did
        told.setdefault(f"{said['line']} {said['role']} {said['message']}", said)
    return list(told.values())[:MAX_FINDINGS]


class Budget:
    """Counts operations down; loops may repeat theirs without end."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self) -> None:
        """Take one; raise ``LimitExceeded`` when none is left."""
        self._left -= 1
        if self._left < 0:
            raise LimitExceeded("the program takes too many operations to diagnose one by one")


@dataclass(frozen=True)
class Body:
    """A jaxpr and the constants it closes over."""

    jaxpr: Any
    consts: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Suspect:
    """An operation whose result is not finite although its inputs are (or NaN from none)."""

    equation: Any
    inputs: list[Any]
    outputs: list[Any]
    scope: str

    def to_wire(self, reversals: int) -> dict[str, Any]:
        """The finding as plain data: non-finite numbers as strings."""
        solver = lines.solver(self.scope)
        name = solver or self.equation.primitive.name
        bad = next(np.asarray(out) for out in self.outputs if _state(out))
        index = [int(at) for at in np.argwhere(~np.isfinite(bad))[0]]
        inputs = [] if solver else list(_at(self.inputs, bad.shape, tuple(index)))
        value = _number(bad[tuple(index)])
        of = f" of {' and '.join(map(str, inputs))}" if inputs else ""
        where = f" at index {index}" if index else ""
        part = lines.role(self.scope, reversals)
        message = f"{name}{of}{where} is {value}"
        if solver:
            message = f"{name}: {NO_SOLUTION if part == lines.PRIMAL else NO_DERIVATIVE}"
        return {
            "line": bounds.line_of(self.scope),
            "role": part,
            "operation": name,
            "index": index,
            "inputs": inputs,
            "value": value,
            "message": message,
        }


FINITE, INFINITE, NAN = 0, 1, 2


def _state(value: Any) -> int:
    """Whether an array holds NaN, infinities or neither."""
    array = np.asarray(value) if not _is_opaque(value) else np.zeros(0)
    if not np.issubdtype(array.dtype, np.inexact) and array.dtype.kind != "V":
        return FINITE
    if np.isnan(array).any():
        return NAN
    return FINITE if np.isfinite(array).all() else INFINITE


def _is_opaque(value: Any) -> bool:
    return jax.numpy.issubdtype(jax.numpy.result_type(value), jax.dtypes.extended)


def _blame(
    body: Body, values: Sequence[Any], scope: str, budget: Budget, depth: int
) -> list[Suspect]:
    """Run ``body``, find its guilty equations and look inside those that hold programs."""
    trail, states = _run(body, values, scope, budget)
    needed = {var for var in body.jaxpr.outvars if states.get(_key(var), FINITE)}
    guilty: list[Suspect] = []
    for equation, suspect in reversed(trail):
        if not any(var in needed for var in equation.outvars):
            continue
        if suspect is not None:
            guilty.append(suspect)
        needed |= {
            var
            for var in equation.invars
            if not isinstance(var, jex.Literal) and states.get(var, FINITE)
        }
    guilty.reverse()
    return [found for suspect in guilty for found in _inside(suspect, budget, depth)]


def _key(var: Any) -> Any:
    return None if isinstance(var, jex.Literal) else var


def _run(
    body: Body, values: Sequence[Any], scope: str, budget: Budget
) -> tuple[list[tuple[Any, Suspect | None]], dict[Any, int]]:
    """Evaluate every equation; keep what each variable's state was and who made it worse."""
    jaxpr = body.jaxpr
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, body.consts, strict=True))
    env.update(zip(jaxpr.invars, values, strict=True))
    states = {var: _state(value) for var, value in env.items()}
    uses = _last_uses(jaxpr)
    trail: list[tuple[Any, Suspect | None]] = []
    count = 0
    for place, equation in enumerate(jaxpr.eqns):
        budget.spend()
        inputs = [v.val if isinstance(v, jex.Literal) else env[v] for v in equation.invars]
        outputs = evaluate(equation, inputs)
        worst = max(map(_state, inputs), default=FINITE)
        made = [_state(output) for output in outputs]
        states.update(zip(equation.outvars, made, strict=True))
        env.update(zip(equation.outvars, outputs, strict=True))
        worse = max(made, default=FINITE) > worst and count < MAX_SUSPECTS
        count += worse
        here = f"{scope}/{equation.source_info.name_stack}"
        trail.append((equation, Suspect(equation, inputs, outputs, here) if worse else None))
        for var in uses.get(place, ()):
            env.pop(var, None)
    return trail, states


def _last_uses(jaxpr: Any) -> dict[int, list[Any]]:
    """Which variables are done with after each equation."""
    last = {
        var: place
        for place, equation in enumerate(jaxpr.eqns)
        for var in equation.invars
        if not isinstance(var, jex.Literal)
    }
    uses: dict[int, list[Any]] = {}
    for var, place in last.items():
        uses.setdefault(place, []).append(var)
    return uses


def evaluate(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """One equation as a whole, on concrete values."""
    params = equation.primitive.get_bind_params(equation.params)
    with equation.ctx.manager:
        outputs = equation.primitive.bind(*inputs, **params)
    return list(outputs) if equation.primitive.multiple_results else [outputs]


def _inside(suspect: Suspect, budget: Budget, depth: int) -> list[Suspect]:
    """The guilty operations within a nested program, or the operation itself."""
    if depth < MAX_DEPTH:
        for body, values in _bodies(suspect.equation, suspect.inputs, budget):
            found = _blame(body, values, suspect.scope, budget, depth + 1)
            if found:
                return found
    return [suspect]


def _bodies(
    equation: Any, inputs: Sequence[Any], budget: Budget
) -> Iterator[tuple[Body, list[Any]]]:
    """The nested programs that an equation runs, with the values each is run on."""
    name, params = equation.primitive.name, equation.params
    if name == "cond":
        branches = params["branches"]
        chosen = min(max(int(inputs[0]), 0), len(branches) - 1)
        yield _body(branches[chosen]), list(inputs[1:])
    elif name == "scan":
        yield from _scan_bodies(params, inputs, budget)
    elif name == "while":
        yield from _while_bodies(params, inputs, budget)
    else:
        for field in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
            if field in params and len(_body(params[field]).jaxpr.invars) == len(inputs):
                yield _body(params[field]), list(inputs)
                return


def _scan_bodies(
    params: Any, inputs: Sequence[Any], budget: Budget
) -> Iterator[tuple[Body, list[Any]]]:
    body, consts, carried = _body(params["jaxpr"]), params["num_consts"], params["num_carry"]
    fixed, carry = list(inputs[:consts]), list(inputs[consts : consts + carried])
    steps = range(params["length"])
    for step in reversed(steps) if params["reverse"] else steps:
        budget.spend()
        values = fixed + carry + [xs[step] for xs in inputs[consts + carried :]]
        yield body, values
        carry = jex.jaxpr_as_fun(params["jaxpr"])(*values)[:carried]


def _while_bodies(
    params: Any, inputs: Sequence[Any], budget: Budget
) -> Iterator[tuple[Body, list[Any]]]:
    tests, fixed = params["cond_nconsts"], params["body_nconsts"]
    test_consts, consts = list(inputs[:tests]), list(inputs[tests : tests + fixed])
    carry = list(inputs[tests + fixed :])
    test, step = (jex.jaxpr_as_fun(params[name]) for name in ("cond_jaxpr", "body_jaxpr"))
    while bool(np.all(test(*test_consts, *carry)[0])):
        budget.spend()
        yield _body(params["body_jaxpr"]), consts + carry
        carry = step(*consts, *carry)


def _body(program: Any) -> Body:
    if isinstance(program, jex.ClosedJaxpr):
        return Body(program.jaxpr, tuple(program.consts))
    return Body(program)


def _at(inputs: Sequence[Any], shape: tuple[int, ...], index: tuple[int, ...]) -> Iterator[Any]:
    """The inputs' values at the place that went wrong, where places correspond."""
    for value in inputs:
        array = np.asarray(value)
        if array.shape == shape:
            yield _number(array[index])
        elif array.shape == ():
            yield _number(array[()])


def _number(value: Any) -> Any:
    """A number that JSON can say: NaN and infinities as strings, complex as text."""
    if np.iscomplexobj(value):
        return str(complex(value))
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    number = float(value)
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
