"""Calls from the language into JAX: guarded arguments in, checked values out, errors made clear."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from app.compute.language import guard
from app.compute.language.messages import cleaned
from app.compute.language.values import Builtin
from app.core.errors import InvalidArgument, LimitExceeded, ProblemError, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

STATIC_HINT = (
    "sizes, axes and loop counts must be known when the function is traced; "
    "send them as static values, or use x.shape"
)
BRANCH_HINT = "use jnp.where(condition, a, b), or lax.cond where only one side may be computed"
MASK_HINT = "keep the shape: jnp.where(mask, x, 0), or jnp.sum(x, where=mask)"
SIZE_HINT = "its shape depends on values; give size=… (and fill_value=…), or use jnp.where"
SLICE_HINT = "use lax.dynamic_slice_in_dim(x, start, size), whose size is static"
SHOWN = {
    "operator.getitem": "indexing",
    "operator.add": "operator +",
    "operator.sub": "operator -",
    "operator.mul": "operator *",
    "operator.truediv": "operator /",
    "operator.floordiv": "operator //",
    "operator.mod": "operator %",
    "operator.pow": "operator **",
    "operator.matmul": "operator @",
}
"""How operations are named to clients where their own name is the host's."""
REDUCING = ("lax.reduce", "lax.reduce_window")
"""JAX differentiates these where it recognises their operator, such as ``lax.max``, itself."""
VALUE_DEPENDENT = (
    "nonzero flatnonzero argwhere unique unique_all unique_counts unique_inverse unique_values "
    "intersect1d setdiff1d setxor1d union1d where extract trim_zeros compress repeat bincount"
).split()


def call(
    run: Evaluator,
    name: str,
    function: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    *,
    functions: bool = False,
) -> Any:
    """Call ``function``, known to sources as ``name``; values of the language in and out.

    With ``functions`` its callbacks may be given functions of the host.
    """
    if run.sparse.takes(name, (*args, *kwargs.values())):
        run.meter.operation()
        return guard.enter(run, run.sparse.call(name, args, kwargs))
    return guard.enter(run, call_raw(run, name, function, args, kwargs, functions=functions))


def call_raw(
    run: Evaluator,
    name: str,
    function: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    *,
    functions: bool = False,
) -> Any:
    """As ``call``, but return the host's own value: for what is unpacked before it enters."""
    run.meter.operation()
    given = [_left(run, name, value, functions) for value in args]
    named = {key: _left(run, name, value, functions) for key, value in kwargs.items()}
    try:
        return function(*given, **named)
    except ProblemError as error:
        # what it points at is the source, not a field of the request
        error.pointer = None
        raise
    except (RecursionError, MemoryError):
        raise LimitExceeded(
            f"{name} is nested too deeply or needs too much memory to be traced",
            hint="use lax.scan or lax.fori_loop in place of nesting",
        ) from None
    except Exception as error:  # noqa: BLE001 - JAX may raise anything; none of it reaches a client
        raise translated(name, error) from None


def _left(run: Evaluator, name: str, value: Any, functions: bool) -> Any:
    if name in REDUCING and type(value) is Builtin and value.name.startswith("lax."):
        return value.function
    if functions and type(value) in guard.FUNCTIONS and type(value) is not guard.Transformed:
        return run.callback(value, functions=True)
    return guard.leave(run, value)


def translated(name: str, error: Exception) -> ProblemError:
    """The problem that a JAX exception amounts to, without anything of the host in it."""
    short = name.rpartition(".")[2]
    name = SHOWN.get(name, name)
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return RefusedSource(
            f"{name}: a value known only when the program runs would decide what is traced",
            hint=BRANCH_HINT,
        )
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        return RefusedSource("the shape of a selection by mask depends on values", hint=MASK_HINT)
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return RefusedSource(
            f"{name}: a value is used outside the transformed function that made it",
            hint="return it from the function instead of appending it to an outer list",
        )
    message = cleaned(str(error))
    if _needs_static(error, message):
        hint = SIZE_HINT if short in VALUE_DEPENDENT else STATIC_HINT
        if message.startswith("Slice entries"):
            hint = SLICE_HINT
        return RefusedSource(
            f"{name}: a value is needed that is known only when the program runs", hint=hint
        )
    if isinstance(error, AssertionError | AttributeError) or not message:
        return InvalidArgument(f"{name} cannot take these arguments")
    return InvalidArgument(f"{name}: {message}")


def _needs_static(error: Exception, message: str) -> bool:
    if isinstance(
        error,
        jax.errors.ConcretizationTypeError
        | jax.errors.TracerArrayConversionError
        | jax.errors.TracerIntegerConversionError,
    ):
        return True
    return "a traced value" in message and ("concrete" in message or "static" in message)
