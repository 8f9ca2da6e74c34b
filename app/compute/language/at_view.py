"""``x.at[index].set(value)`` and its kin: how a source gets an array with some entries changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.compute.language.values import AtPlace, Method
from app.core.errors import InvalidArgument, RefusedSource

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator

OPTIONS = ("mode", "fill_value", "indices_are_sorted", "unique_indices", "wrap_negative_indices")
MODES = ("clip", "drop", "fill", "wrap", None)
UPDATES = {
    "set": lambda place, *args, **options: place.set(*args, **options),
    "add": lambda place, *args, **options: place.add(*args, **options),
    "subtract": lambda place, *args, **options: place.subtract(*args, **options),
    "multiply": lambda place, *args, **options: place.multiply(*args, **options),
    "mul": lambda place, *args, **options: place.multiply(*args, **options),
    "divide": lambda place, *args, **options: place.divide(*args, **options),
    "power": lambda place, *args, **options: place.power(*args, **options),
    "min": lambda place, *args, **options: place.min(*args, **options),
    "max": lambda place, *args, **options: place.max(*args, **options),
    "get": lambda place, *args, **options: place.get(*args, **options),
    "apply": lambda place, *args, **options: place.apply(*args, **options),
}


def update(place: AtPlace, name: str) -> Method:
    """The method ``name`` of ``x.at[index]``; the result is a new array."""

    def apply(run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        for option, value in kwargs.items():
            if option not in OPTIONS and not (option == "values" and name not in ("get", "apply")):
                raise InvalidArgument(f"x.at[…].{name}() has no argument {option[:60]}")
            if option == "mode" and not (type(value) in (str, type(None)) and value in MODES):
                raise RefusedSource(
                    "this mode is not allowed", hint='write mode="clip", "drop", "fill" or "wrap"'
                )
        wanted = 0 if name == "get" else 1
        if len(args) + ("values" in kwargs) != wanted:
            raise InvalidArgument(
                f"x.at[…].{name}() takes {wanted} value{'' if wanted == 1 else 's'}",
                hint=f"write x.at[0].{name}({'value' if wanted else ''})",
            )

        def call(array: Any, index: Any, *values: Any, **options: Any) -> Any:
            return UPDATES[name](array.at[index], *values, **options)

        return run.host(f"at.{name}", call, [place.array, place.index, *args], **kwargs)

    return Method(name, apply)
