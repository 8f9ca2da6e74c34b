"""The fields of a call beside its inputs, checked by pydantic; one model a family of verbs.

Inputs (args, tangents, cotangents, vectors) are decoded by the codec and never pass through
here. Models are strict and frozen; an unknown field is refused with the nearest known name.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from app.routes.call_models import CallFields, Fields, FloatType, Output, RunFields, Vmap
from app.routes.misfits import refusal
from app.routes.solver_models import SOLVER_FIELDS

__all__ = [
    "VERB_FIELDS",
    "CallFields",
    "Fields",
    "FloatType",
    "Output",
    "RunFields",
    "Vmap",
    "inputs_of",
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


def inputs_of(verb: str) -> tuple[str, ...]:
    """The inputs of a verb beside those of every verb; they are values, not part of its key."""
    return VERB_FIELDS[verb].INPUTS if verb in VERB_FIELDS else ()


def validate(model: type[Fields], document: dict[str, Any]) -> Any:
    """The model of a document; raises InvalidArgument at the first field that does not fit."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise refusal(model, error) from None
