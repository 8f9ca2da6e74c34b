"""The border between the language and the host: every value that crosses is checked by type.

``enter`` lets a host value in or refuses it; ``leave`` makes what a host function receives. Lists,
tuples and dicts are copied both ways, so neither side can change what the other holds, and each
item walked is charged, so shared and cyclic structures cost what they spell out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.core import Tracer

from app.compute.language import sizes
from app.compute.language.callbacks import Callback
from app.compute.language.records import Record, RecordClass, tuple_class
from app.compute.language.values import (
    FUNCTIONS,
    ArrayType,
    AtPlace,
    AtView,
    Builtin,
    Closure,
    DType,
    Ignored,
    Indexer,
    Method,
    Module,
    Native,
    Partial,
    Token,
    Transformed,
)
from app.core.errors import InvalidArgument, LimitExceeded, RefusedSource
from app.core.values import span

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

NUMBERS = (bool, int, float, complex)
ATOMS = frozenset((bool, float, complex, type(None), type(Ellipsis), range, slice))
OWN = frozenset(
    (
        Module,
        Builtin,
        Native,
        Token,
        DType,
        Indexer,
        Ignored,
        ArrayType,
        Transformed,
        Partial,
        Method,
        AtView,
        AtPlace,
        Closure,
        RecordClass,
    )
)
DTYPE_OF = {float: float, int: int, bool: bool, complex: complex}
TREE_STRUCTURE = type(jax.tree.structure(0))
HOST_KINDS = "OSUMm"


def is_traced(value: Any) -> bool:
    """Whether a value is known only when the program runs."""
    return isinstance(value, Tracer)


def is_array(value: Any) -> bool:
    """Whether a value is an array, concrete or traced."""
    return isinstance(value, (Tracer, jax.Array, np.ndarray))


def bytes_of(array: Any) -> int:
    """The size of an array's data, from its shape and dtype alone; its span where it is empty."""
    return span(array.shape) * getattr(array.dtype, "itemsize", 8)


def enter(run: Evaluator, value: Any, *, functions: bool = False, depth: int = 0) -> Any:
    """The language's value for a host value; raise for anything the language does not have.

    ``functions`` admits functions of the host: only in callbacks of solvers, whose arguments are
    linear maps that JAX made.
    """
    kind = type(value)
    if kind in ATOMS or kind in OWN:
        return value
    if kind is int:
        return sizes.checked_int(run, value)
    if kind is str:
        return sizes.checked_text(run, value)
    if is_array(value):
        return _enter_array(run, value)
    if kind is Callback:
        return value.function
    if run.sparse.is_sparse(value):
        return value
    return _enter_structure(run, value, functions, depth)


def _enter_array(run: Evaluator, value: Any) -> Any:
    if value.ndim > run.limits.rank:
        raise LimitExceeded(f"an array has more than {run.limits.rank} dimensions")
    if value.dtype == jax.dtypes.float0:
        # The tangent of an integer: it carries no information and stands for zero.
        return jnp.zeros(value.shape)
    is_key = jnp.issubdtype(value.dtype, jax.dtypes.extended)
    if not is_key and value.dtype.kind in HOST_KINDS:
        raise RefusedSource("an array of objects or text is not allowed", hint="use numbers")
    size = bytes_of(value)
    if size > run.limits.array_bytes:
        raise LimitExceeded(
            f"an array of shape {tuple(value.shape)} and type {value.dtype} needs {size} bytes; "
            f"at most {run.limits.array_bytes} are allowed",
            hint="reduce along an axis before building the whole array, or use lax.scan",
        )
    return value


def _enter_structure(run: Evaluator, value: Any, functions: bool, depth: int) -> Any:
    sizes.checked_depth(run, depth)
    kind = type(value)
    if kind is Record:
        items = _enter_items(run, value.values, functions, depth)
        return Record(value.type, tuple(items))
    if kind is dict:
        sizes.checked_length(run, len(value))
        return {
            enter_key(run, key): enter(run, item, functions=functions, depth=depth + 1)
            for key, item in value.items()
        }
    if kind is list:
        return _enter_items(run, value, functions, depth)
    if isinstance(value, tuple):
        items = _enter_items(run, value, functions, depth)
        fields = getattr(kind, "_fields", None)
        if kind is tuple or not isinstance(fields, tuple):
            return tuple(items)
        if kind.__name__.endswith("DimensionNumbers"):
            return Token("dimension numbers", value)
        return Record(tuple_class(kind.__name__, fields), tuple(items))
    return _enter_scalar(run, value, functions)


def _enter_items(run: Evaluator, items: Any, functions: bool, depth: int) -> list[Any]:
    sizes.checked_length(run, len(items))
    return [enter(run, item, functions=functions, depth=depth + 1) for item in items]


def _enter_scalar(run: Evaluator, value: Any, functions: bool) -> Any:
    # NumPy's scalars and JAX's typed literals are subclasses of Python's numbers.
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return sizes.checked_int(run, int(value))
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, (complex, np.complexfloating)):
        return complex(value)
    if type(value) is TREE_STRUCTURE:
        return Token("tree structure", value)
    if isinstance(value, np.dtype):
        return DType(value.name, value)
    if isinstance(value, jnp.finfo):
        return _enter_info(run, "finfo", value)
    if isinstance(value, jnp.iinfo):
        return _enter_info(run, "iinfo", value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return DType(np.dtype(value).name, np.dtype(value))
    if functions and callable(value):
        return Transformed("function", value)
    raise RefusedSource("a value that the language does not have is not allowed here")


def _enter_info(run: Evaluator, kind: str, value: Any) -> Record:
    fields = run.registry.info_attributes[kind]
    values = tuple(getattr(value, name, None) for name in fields)
    return Record(
        tuple_class(kind, fields), tuple(None if v is None else enter(run, v) for v in values)
    )


def enter_key(run: Evaluator, key: Any) -> Any:
    """A dict key: a static number, text or a flat tuple of these."""
    kind = type(key)
    if kind is str:
        return sizes.checked_text(run, key)
    if kind in NUMBERS or key is None:
        return key
    short = kind is tuple and len(key) <= run.limits.structure_depth
    if short and all(type(part) is str or type(part) in NUMBERS for part in key):
        return key
    if isinstance(key, np.generic):
        return enter_key(run, key.item())
    raise InvalidArgument(
        "a key must be a static number, text or a flat tuple of these",
        hint="index arrays with integers known when the function is traced, or use lax.switch",
    )


def leave(run: Evaluator, value: Any, depth: int = 0) -> Any:
    """What a host function receives for a value of the language."""
    kind = type(value)
    if kind is range:
        sizes.checked_range(run, value)
    if kind in (int, str) or kind in ATOMS or is_array(value):
        return value
    if kind in (list, tuple):
        sizes.checked_depth(run, depth)
        sizes.checked_length(run, len(value))
        items = [leave(run, item, depth + 1) for item in value]
        return items if kind is list else tuple(items)
    if kind is dict:
        sizes.checked_depth(run, depth)
        sizes.checked_length(run, len(value))
        _check_keys(value)
        return {key: leave(run, item, depth + 1) for key, item in value.items()}
    if kind is Record:
        sizes.checked_depth(run, depth)
        return Record(value.type, tuple(leave(run, item, depth + 1) for item in value.values))
    return _leave_handle(run, value)


def _leave_handle(run: Evaluator, value: Any) -> Any:
    kind = type(value)
    if kind in (DType, Token):
        return value.value
    if kind is Native and value.python_type in DTYPE_OF:
        return DTYPE_OF[value.python_type]
    if kind in FUNCTIONS or kind is RecordClass:
        return run.callback(value)
    if run.sparse.is_sparse(value):
        return value
    name = getattr(value, "name", "x.at")
    raise InvalidArgument(f"{name} is not a value that a function can take")


def _check_keys(value: Mapping[Any, Any]) -> None:
    if len({type(key) for key in value}) > 1:
        raise InvalidArgument(
            "a dict with keys of several types has no fixed order",
            hint="use text for all keys",
        )
