"""What is checked about the arguments of a registered function before the host sees them.

Most bounds follow from parameter names (``dtype``, ``unroll``, ``device``); the few functions that
loop or build on the host while tracing have a rule of their own (``argument_rules``).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, sizes
from app.compute.language.argument_rules import Arguments, rule_of
from app.compute.language.values import Builtin, DType, Native
from app.core.errors import LimitExceeded, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


DENIED_KEYWORDS = frozenset(
    "device backend sharding out_sharding out_shardings in_shardings spmd_axis_name "
    "compiler_options mesh policy concrete".split()
)
IGNORED_KEYWORDS = frozenset("donate_argnums donate_argnames keep_unused inline".split())
DTYPE_FUNCTIONS = frozenset(
    "jnp.promote_types jnp.result_type jnp.can_cast jnp.issubdtype jnp.finfo jnp.iinfo "
    "lax.dtype".split()
)
ELEMENT_TYPES = ("preferred_element_type",)
DTYPE_HINT = 'write dtype=jnp.float32, or one of the names "float32", "int32", "bool" …'
SHORT_TEXTS = {"signature": 200, "subscripts": 1_000, "impl": 40}


def prepared(
    run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]
) -> Arguments:
    """The arguments to call with, or a refusal."""
    kwargs = _keywords(kwargs)
    if not builtin.name.startswith(("jax.tree.", "jax.tree_util.")):
        _check_operands(run, (*args, *kwargs.values()))
    if builtin.name in DTYPE_FUNCTIONS:
        for value in args:
            if type(value) is str:
                check_dtype(run, value)
    args, kwargs = _by_parameter(run, builtin, args, kwargs)
    rule = rule_of(builtin)
    return rule(run, builtin, args, kwargs) if rule is not None else (args, kwargs)


def _keywords(kwargs: dict[str, Any]) -> dict[str, Any]:
    for name, value in kwargs.items():
        if name in DENIED_KEYWORDS and value is not None:
            raise RefusedSource(
                f"the argument {name} is not allowed: it belongs to the request, not the function"
            )
    return {name: value for name, value in kwargs.items() if name not in IGNORED_KEYWORDS}


def _check_operands(run: Evaluator, values: Iterable[Any]) -> None:
    """Bound how many arrays and functions one call is given, however they are nested."""
    count = 0
    stack = [(value, 0) for value in values]
    while stack:
        value, depth = stack.pop()
        kind = type(value)
        if kind in (list, tuple, dict):
            sizes.checked_depth(run, depth)
            sizes.checked_length(run, len(value))
            items = value.values() if kind is dict else value
            stack.extend((item, depth + 1) for item in items)
        elif kind not in (int, float, bool, str, complex):
            count += 1
            if count > run.limits.operands:
                raise LimitExceeded(
                    f"one operation is given more than {run.limits.operands} arrays or functions",
                    hint="build one array with jax.vmap, jnp.tile or lax.scan instead",
                )


def _by_parameter(
    run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]
) -> Arguments:
    given = list(args)
    for position, name in watched_parameters(builtin).items():
        if position < len(given):
            given[position] = _checked(run, name, given[position])
    named = {name: _checked(run, name, value) for name, value in kwargs.items()}
    return given, named


@cache
def watched_parameters(builtin: Builtin) -> Mapping[int, str]:
    """Positions of the parameters whose values are checked by name."""
    try:
        parameters = inspect.signature(builtin.function).parameters
    except (TypeError, ValueError):
        return {}
    return {
        position: name
        for position, name in enumerate(parameters)
        if "dtype" in name or name in (*ELEMENT_TYPES, *SHORT_TEXTS, "unroll", "mode")
    }


def _checked(run: Evaluator, name: str, value: Any) -> Any:
    if "dtype" in name or name in ELEMENT_TYPES:
        return check_dtype(run, value)
    if name == "unroll":
        static = type(value) is int and 0 <= value <= run.limits.unroll
        return value if static or value is False else run.limits.unroll
    if name in SHORT_TEXTS and type(value) is str and len(value) > SHORT_TEXTS[name]:
        raise LimitExceeded(f"{name} is longer than {SHORT_TEXTS[name]} characters")
    if name == "mode" and type(value) is str and value == "promise_in_bounds":
        raise RefusedSource(
            'mode="promise_in_bounds" is not allowed', hint='write mode="clip" or mode="fill"'
        )
    return value


def check_dtype(run: Evaluator, value: Any) -> Any:
    """``value`` if it names an element type that sources may use."""
    kind = type(value)
    if value is None or kind is DType or guard.is_array(value):
        return value
    if kind is Native and value.python_type in guard.DTYPE_OF:
        return value
    if kind is str and value in run.registry.string_dtypes:
        return value
    shown = f'the type "{value[:20]}"' if kind is str else "this type"
    raise RefusedSource(f"{shown} is not allowed", hint=DTYPE_HINT)
