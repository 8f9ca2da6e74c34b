"""Bounds a traced program before it is lowered: equations, operands, bytes, results.

Works on the jaxpr alone, so that a refused program has cost nothing but its trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
from jax.extend import core as jex

from app.compute.explain.lines import named
from app.compute.limits import EngineLimits
from app.core.errors import LimitExceeded
from app.core.values import span


def check(closed: jex.ClosedJaxpr, limits: EngineLimits) -> int:
    """Count the equations of ``closed``; raise ``LimitExceeded`` at the first bound passed."""
    count = 0
    for equation, scope in equations(closed.jaxpr):
        count += 1
        if count > limits.equations:
            raise LimitExceeded(
                f"the program has more than {limits.equations:,} operations",
                line=line_of(scope),
                hint="use lax.scan or lax.fori_loop in place of a long Python loop",
            )
        if len(equation.invars) > limits.operands:
            raise LimitExceeded(
                f"one {equation.primitive.name} takes {len(equation.invars):,} operands; "
                f"at most {limits.operands} are allowed",
                line=line_of(scope),
                hint="build the array from one expression over an index, or with lax.scan",
            )
        for variable in equation.outvars:
            _check_bytes(variable.aval, equation.primitive.name, scope, limits)
    return count


def check_results(avals: list[Any], limits: EngineLimits) -> None:
    """Raise ``LimitExceeded`` where the results are too many or too large."""
    if len(avals) > limits.output_leaves:
        raise LimitExceeded(f"the result holds {len(avals):,} arrays; at most "
                            f"{limits.output_leaves:,} are allowed")  # fmt: skip
    total = sum(nbytes(aval) for aval in avals)
    if total > limits.output_bytes:
        raise LimitExceeded(
            f"the result holds {total:,} bytes; at most {limits.output_bytes:,} are allowed",
            hint="reduce the result in the function, or use jvp, vjp or hvp for products",
        )


def equations(jaxpr: Any, scope: str = "") -> Iterator[tuple[Any, str]]:
    """Every equation with its full scope, sub-programs after the equation that holds them."""
    stack = [(jaxpr, scope, iter(jaxpr.eqns))]
    while stack:
        _, above, rest = stack[-1]
        equation = next(rest, None)
        if equation is None:
            stack.pop()
            continue
        here = f"{above}/{equation.source_info.name_stack}"
        yield equation, here
        stack.extend((sub, here, iter(sub.eqns)) for sub in subprograms(equation))


def subprograms(equation: Any) -> list[Any]:
    """The jaxprs held by the parameters of one equation."""
    found: list[Any] = []
    for value in equation.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, jex.ClosedJaxpr):
                found.append(item.jaxpr)
            elif isinstance(item, jex.Jaxpr):
                found.append(item)
    return found


def nbytes(aval: Any) -> int:
    """Bytes of one array; 0 for tokens and other things that hold no data."""
    shape = getattr(aval, "shape", None)
    if shape is None or getattr(aval, "dtype", None) is None:
        return 0
    if jax.numpy.issubdtype(aval.dtype, jax.dtypes.extended):
        return math.prod(shape) * 16
    return math.prod(shape) * aval.dtype.itemsize


def line_of(scope: str) -> int | None:
    """The innermost source line that a scope names."""
    found = named(scope)
    return found[-1] if found else None


def _check_bytes(aval: Any, operation: str, scope: str, limits: EngineLimits) -> None:
    size = max(nbytes(aval), span(getattr(aval, "shape", ())))
    if size > limits.array_bytes:
        shape = "x".join(map(str, aval.shape))
        raise LimitExceeded(
            f"{operation} makes a {shape} {aval.dtype} array of {size:,} bytes; "
            f"at most {limits.array_bytes:,} are allowed",
            line=line_of(scope),
            hint="work on parts with lax.scan or lax.map, or send fewer points",
        )
