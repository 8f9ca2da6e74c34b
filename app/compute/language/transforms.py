"""Transforms of functions: what they return is a function, kept opaque and only ever called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from app.compute.language import host, matrix_rules
from app.compute.language.values import FUNCTIONS, Builtin, Method, Partial, Transformed
from app.core.errors import InvalidArgument

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

INITIALIZERS = (
    "constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal "
    "kaiming_uniform lecun_normal lecun_uniform normal orthogonal truncated_normal uniform "
    "variance_scaling xavier_normal xavier_uniform"
).split()
MAKERS = frozenset(
    "jax.grad jax.value_and_grad jax.vmap jax.jit jax.jacfwd jax.jacrev jax.jacobian jax.hessian "
    "jax.checkpoint jax.remat jax.custom_gradient jax.linear_transpose jax.custom_vjp "
    "jax.custom_jvp jnp.vectorize".split()
) | {f"jax.nn.initializers.{name}" for name in INITIALIZERS}
"""Functions whose result is a function."""
ORDERS = {
    "jax.grad": 1,
    "jax.value_and_grad": 1,
    "jax.jacfwd": 1,
    "jax.jacrev": 1,
    "jax.jacobian": 1,
    "jax.hessian": 2,
    "jax.jvp": 1,
    "jax.vjp": 1,
}
"""How many derivatives a function takes, or the function that it makes."""
UNPACKED = frozenset(("jax.vjp", "jax.flatten_util.ravel_pytree"))
"""Functions whose result is a tuple with a function in second place."""


def make(run: Evaluator, maker: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The function that a transform makes, or, without a function to transform, a decorator."""
    short = maker.name.rpartition(".")[2]
    if not maker.name.startswith("jax.nn."):
        if not args and "fun" not in kwargs:
            return Partial(maker, (), kwargs)
        if args and type(args[0]) not in FUNCTIONS:
            raise InvalidArgument(
                f"{maker.name} takes a function first",
                hint=f"write {maker.name}(f)(x), not {maker.name}(f(x))",
            )
    made = host.call_raw(run, maker.name, maker.function, args, kwargs)
    inner = "…" if not args or type(args[0]) is Transformed else getattr(args[0], "name", "…")
    return Transformed(f"{short}({inner})", made, ORDERS.get(maker.name, 0))


def unpacked(run: Evaluator, maker: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A tuple whose second item stays an opaque function; the others enter as values."""
    first, function, *rest = host.call_raw(run, maker.name, maker.function, args, kwargs)
    name = f"the function that {maker.name} returned"
    return (run.enter(first), Transformed(name, function), *(run.enter(item) for item in rest))


def rule_method(value: Transformed, name: str) -> Method | None:
    """``defvjp``, ``defjvp`` and ``defjvps`` of a function with a custom rule, else None."""
    kind = type(value.function)
    define = RULES.get((kind, name))
    if define is None:
        return None

    def apply(run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs.get("symbolic_zeros"):
            raise InvalidArgument(
                "symbolic zeros are not in the language", hint="leave symbolic_zeros out"
            )
        host.call_raw(run, name, lambda *rules: define(value.function, *rules), args, kwargs)
        return args[0] if args else None

    return Method(name, apply)


RULES = {
    (jax.custom_vjp, "defvjp"): matrix_rules.defvjp,
    (jax.custom_jvp, "defjvp"): matrix_rules.defjvp,
    (jax.custom_jvp, "defjvps"): matrix_rules.defjvps,
}
