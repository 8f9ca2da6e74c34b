"""Rules for the arguments of single functions: those that loop or build on the host while tracing,
and those whose numbers of a request must be made whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from jax import numpy as jnp

from app.compute.language import guard
from app.compute.language.values import Builtin
from app.core.errors import LimitExceeded, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

Arguments: TypeAlias = tuple[list[Any], dict[str, Any]]


def _small(limit: int | None = None) -> Callable[..., Arguments]:
    """A rule for functions that work through a static size on the host."""

    def rule(
        run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]
    ) -> Arguments:
        largest = limit if limit is not None else run.limits.builder_size
        for value in (*args, *kwargs.values()):
            for item in value if type(value) in (list, tuple) else (value,):
                if type(item) is int and abs(item) > largest:
                    raise LimitExceeded(f"{builtin.name}: the static size {item} is over {largest}")
        return args, kwargs

    return rule


def _einsum(run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Arguments:
    if len(args) > 17:
        raise LimitExceeded("jnp.einsum takes at most 16 operands here")
    if len(args) > 6 or kwargs.get("optimize") not in (None, True, False, "auto", "greedy"):
        kwargs = {**kwargs, "optimize": "auto"}
    return args, kwargs


def _multi_dot(
    run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]
) -> Arguments:
    if args and type(args[0]) in (list, tuple) and len(args[0]) > 32:
        raise LimitExceeded("jnp.linalg.multi_dot takes at most 32 matrices here")
    return args, kwargs


def _repeat(run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Arguments:
    repeats: Any = args[1] if len(args) > 1 else kwargs.get("repeats")
    if type(repeats) in (list, tuple):
        total = sum(abs(count) for count in repeats if type(count) is int)
        if total > 1 << 20:
            raise LimitExceeded("jnp.repeat: the listed repeats add up to more than 2**20")
    return args, kwargs


def _resize(run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Arguments:
    if not args:
        return args, kwargs
    shape: Any = args[1] if len(args) > 1 else kwargs.get("new_shape")
    sizes = list(shape) if type(shape) in (list, tuple) else [shape]
    if all(type(size) is int for size in sizes):
        old = math.prod(jnp.shape(run.leave(args[0])))
        if math.prod(sizes) > run.limits.operands * max(old, 1):
            raise LimitExceeded(
                "jnp.resize: the array would be repeated too often", hint="jnp.tile"
            )
    return args, kwargs


def _pad(run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Arguments:
    mode = args[2] if len(args) > 2 else kwargs.get("mode", "constant")
    if mode in ("constant", "edge", "empty"):
        return args, kwargs
    widths: Any = args[1] if len(args) > 1 else kwargs.get("pad_width")
    flat: list[Any] = [widths]
    while flat:
        width = flat.pop()
        if type(width) in (list, tuple) and len(flat) < run.limits.rank * 4:
            flat.extend(width[: run.limits.rank * 2])
        elif type(width) is int and abs(width) > run.limits.builder_size:
            raise LimitExceeded(
                f"jnp.pad: a width of {width} with this mode is over {run.limits.builder_size}"
            )
    return args, kwargs


def _host_math(
    run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]
) -> Arguments:
    name = builtin.name.partition(".")[2]
    if any(guard.is_array(value) for value in (*args, *kwargs.values())):
        same = {"fabs": "abs", "prod": "prod", "pow": "power", "comb": None, "factorial": None}
        other = same.get(name, name)
        hint = f"write jnp.{other}" if other and hasattr(jnp, other) else None
        if hint is None and name in ("erf", "erfc", "gamma", "lgamma", "factorial", "comb"):
            hint = f"write jax.scipy.special.{'gammaln' if name == 'lgamma' else name}"
        raise RefusedSource(f"math.{name} takes static numbers, not arrays", hint=hint)
    if name in ("comb", "factorial"):
        return _small(1_000)(run, builtin, args, kwargs)
    return args, kwargs


def _integer_seed(
    run: Evaluator, builtin: Builtin, args: list[Any], kwargs: dict[str, Any]
) -> Arguments:
    """Numbers of a request are floating point, seeds and branch numbers are not: convert them."""
    position = 1 if builtin.name == "jax.random.fold_in" else 0
    args = list(args)
    for index, value in enumerate(args):
        single = index == position and guard.is_array(value) and value.ndim == 0
        if single and jnp.issubdtype(value.dtype, jnp.floating):
            args[index] = value.astype(int)
    return args, kwargs


RULES: Mapping[str, Callable[..., Arguments]] = {
    "jnp.einsum": _einsum,
    "jnp.linalg.multi_dot": _multi_dot,
    "jnp.repeat": _repeat,
    "jnp.resize": _resize,
    "jnp.pad": _pad,
    "jax.random.key": _integer_seed,
    "jax.random.PRNGKey": _integer_seed,
    "jax.random.fold_in": _integer_seed,
    "lax.switch": _integer_seed,
    **{
        f"jnp.{name}": _small()
        for name in (
            "array_split split hsplit vsplit dsplit diff tril_indices triu_indices mask_indices "
            "diag_indices poly"
        ).split()
    },
    **{
        f"jax.scipy.special.{name}": _small()
        for name in "bernoulli bessel_jn sph_harm_y multigammaln expn".split()
    },
    **{
        f"jax.scipy.linalg.{name}": _small()
        for name in (
            "hilbert invhilbert pascal invpascal dft hadamard helmert expm expm_frechet "
            "convolution_matrix"
        ).split()
    },
}


def rule_of(builtin: Builtin) -> Callable[..., Arguments] | None:
    """The rule for one function; all of ``math`` shares one."""
    return _host_math if builtin.name.startswith("math.") else RULES.get(builtin.name)
