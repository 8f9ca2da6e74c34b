"""The fields of a call beside its inputs, checked by pydantic; one model a family of verbs.

Inputs (args, tangents, cotangents, vectors) are decoded by the codec and never pass through
here. Models are strict and frozen; an unknown field is refused with the nearest known name.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from app.core.codec.numbers import pointer
from app.core.errors import InvalidArgument
from app.routes.call_models import CallFields, Fields, FloatType, Output, RunFields, Vmap
from app.routes.solver_models import SOLVER_FIELDS

__all__ = [
    "VERB_FIELDS",
    "CallFields",
    "Fields",
    "FloatType",
    "Output",
    "RunFields",
    "Vmap",
    "options_of",
    "validate",
]


class JacobianFields(CallFields):
    """jacobian: direction, and whether the result is sparse, of a pattern found or given."""

    mode: Literal["auto", "forward", "reverse"] | None = None
    sparse: bool | dict[str, Any] = False


class HessianFields(CallFields):
    """hessian: whether the result is sparse, of a pattern found or given."""

    sparse: bool | dict[str, Any] = False


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
    "hessian": HessianFields,
    "jvp": DirectionFields,
    "vjp": DirectionFields,
    "hvp": DirectionFields,
    "check_grads": CheckFields,
    "abstract_eval": CallFields,
    **SOLVER_FIELDS,
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
