"""Python's functions of numbers: static ones, and arrays where clear."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, operators
from app.compute.language.describe import describe
from app.compute.language.values import (
    Native,
    native,
)
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

STATIC_REAL = (int, float, bool)


def _abs(run: Evaluator, value: Any) -> Any:
    if type(value) in guard.NUMBERS:
        return run.enter(abs(value))
    return run.call(run.registry.bare["abs"], [value], {})


def _round(run: Evaluator, value: Any, digits: Any = None) -> Any:
    if type(value) in STATIC_REAL and (digits is None or type(digits) is int):
        return run.enter(round(value, digits))
    return run.call(run.registry.bare["round"], [value, digits or 0], {})


def _pow(run: Evaluator, base: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        raise RefusedSource("pow with a modulus is not allowed", hint="write pow(a, b) % m")
    return operators.binary(run, ast.Pow, base, exponent)


def _divmod(run: Evaluator, left: Any, right: Any) -> tuple[Any, Any]:
    return (
        operators.binary(run, ast.FloorDiv, left, right),
        operators.binary(run, ast.Mod, left, right),
    )


def _float(run: Evaluator, value: Any = 0.0) -> Any:
    if guard.is_array(value):
        _check_single(value, "float")
        return run.call(run.registry.bare["asarray"], [value], {"dtype": NUMBERS["float"]})
    if type(value) is str and value.strip().lower().lstrip("+-") not in ("inf", "nan"):
        raise InvalidArgument('float of a text takes "inf", "-inf" or "nan" only')
    if type(value) in (*STATIC_REAL, str):
        return float(value)
    raise InvalidArgument(f"float takes a number, not {describe(value)}")


def _check_single(value: Any, name: str) -> None:
    if value.size != 1:
        raise InvalidArgument(
            f"{name} takes one number, not {describe(value)}", hint=f"write x.astype({name})"
        )


def _int(run: Evaluator, value: Any = 0) -> Any:
    if guard.is_traced(value):
        raise RefusedSource(
            "int needs a value that is known when the function is traced",
            hint="write x.astype(int) for a traced integer, or send the value as static",
        )
    if type(value) in STATIC_REAL or guard.is_array(value):
        try:
            return run.enter(int(value))
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument("int takes one finite number") from None
    raise InvalidArgument(f"int takes a number, not {describe(value)}")


def _bool(run: Evaluator, value: Any = False) -> bool:
    return operators.truth(run, value)


def _complex(run: Evaluator, real: Any = 0.0, imag: Any = 0.0) -> Any:
    if type(real) in guard.NUMBERS and type(imag) in guard.NUMBERS:
        return complex(real, imag)
    raise RefusedSource("complex takes static numbers", hint="write a + 1j*b, or lax.complex(a, b)")


NUMBERS: Mapping[str, Native] = MappingProxyType(
    {
        "abs": native("abs", _abs),
        "bool": native("bool", _bool, bool),
        "complex": native("complex", _complex, complex),
        "divmod": native("divmod", _divmod),
        "float": native("float", _float, float),
        "int": native("int", _int, int),
        "pow": native("pow", _pow),
        "round": native("round", _round),
    }
)
"""Each by its name in the outermost scope."""
