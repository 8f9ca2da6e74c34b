"""The fields of a call beside its inputs, checked by pydantic; one model a family of verbs.

Inputs (args, tangents, cotangents, vectors) are decoded by the codec and never pass through
here. Models are strict and frozen; an unknown field is refused with the nearest known name.
"""

from __future__ import annotations

import difflib
import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from app.core.codec.numbers import pointer
from app.core.errors import InvalidArgument

Parameter = int | str
FloatType = Literal["float64", "float32"]


class Fields(BaseModel):
    """Strict, frozen, nothing unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Vmap(Fields):
    """Map over leading (or other) axes, outside the derivative; as ``jax.vmap``."""

    in_axes: int | list[Any] | dict[str, Any] | None = 0
    out_axes: int = 0


class Output(Fields):
    """How results are written, and whether they are kept as arrays instead."""

    encoding: Literal["json", "base64"] = "json"
    layout: Literal["coo", "csr", "csc", "bcoo", "bcsr"] | None = None
    store: bool = False


class RunFields(Fields):
    """Where and how long to run, and what to report."""

    output: Output = Output()
    device: str | None = None
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    diagnose: bool = False


def _constant(value: Any) -> Any:
    """A compile-time value: it is part of the program's key, so it must be plain and finite."""
    if isinstance(value, list):
        return [_constant(item) for item in value]
    finite = not isinstance(value, float) or math.isfinite(value)
    if finite and (value is None or isinstance(value, (bool, int, float, str))):
        return value
    raise ValueError("static values are finite numbers, strings, booleans, null and lists of them")


Constant = Annotated[Any, AfterValidator(_constant)]


class CallFields(RunFields):
    """What every verb takes."""

    function: str | dict[str, Any]
    wrt: Parameter | list[Parameter] | None = None
    static: dict[str, Constant] | None = None
    vmap: Vmap | None = None
    dtype: FloatType = "float64"
    holomorphic: bool = False


class JacobianFields(CallFields):
    """jacobian and hessian: direction, and whether the result is sparse."""

    mode: Literal["auto", "forward", "reverse"] | None = None


class DirectionFields(CallFields):
    """jvp, vjp, hvp: one direction, or many along a leading axis with ``batch``."""

    batch: bool = False


class CheckFields(CallFields):
    """check_grads: derivative order and step of the finite differences."""

    order: Literal[1, 2] = 1
    eps: Annotated[float, Field(gt=0)] | None = None


VERB_FIELDS: dict[str, type[CallFields]] = {
    "evaluate": CallFields,
    "grad": CallFields,
    "value_and_grad": CallFields,
    "jacobian": JacobianFields,
    "hessian": JacobianFields,
    "jvp": DirectionFields,
    "vjp": DirectionFields,
    "hvp": DirectionFields,
    "check_grads": CheckFields,
    "abstract_eval": CallFields,
}
"""Every verb served at ``POST /v1/{verb}`` with the model of its fields."""

_COMMON_OPTIONS = ("wrt", "static", "vmap", "holomorphic")


def options_of(fields: CallFields) -> dict[str, Any]:
    """What of the fields shapes the program: goes into its key. Defaults are left out."""
    names = {*_COMMON_OPTIONS, *(set(type(fields).model_fields) - set(CallFields.model_fields))}
    return fields.model_dump(include=names, exclude_defaults=True, exclude_none=True)


def validate(model: type[Fields], document: dict[str, Any]) -> Any:
    """The model of a document; raises InvalidArgument at the first field that does not fit."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise _refusal(model, error) from None


def _refusal(model: type[Fields], error: ValidationError) -> InvalidArgument:
    first = error.errors(include_url=False, include_context=False)[0]
    path = tuple(step for step in first["loc"] if not _names_a_type(step))
    name = str(path[-1]) if path else ""
    known = [field for field in model.model_fields if field != name]
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}?" if near else "Known fields: " + ", ".join(known)
        return InvalidArgument(f"No field {name[:60]!r} here", pointer=pointer(path), hint=hint)
    if first["type"] == "missing":
        return InvalidArgument(
            f"The field {name!r} is missing",
            pointer=pointer(path),
            hint='Like {"function": "lambda x: x**2", "args": [3.0]}',
        )
    return InvalidArgument(f"{name}: {first['msg']}", pointer=pointer(path))


def _names_a_type(step: int | str) -> bool:
    """Pydantic adds the branch of a union to a location: no part of a JSON pointer."""
    return isinstance(step, str) and (step in {"int", "str"} or "[" in step)
