"""What every call's fields are made of: strict frozen models, and what each verb takes."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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
    """What every verb takes; ``INPUTS`` are further values that the codec reads like args."""

    INPUTS: ClassVar[tuple[str, ...]] = ()

    function: str | dict[str, Any]
    wrt: Parameter | list[Parameter] | None = None
    static: dict[str, Constant] | None = None
    vmap: Vmap | None = None
    dtype: FloatType = "float64"
    holomorphic: bool = False
