"""Methods of lists, dicts, tuples and texts: our own, bounded, with equality that is charged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from app.compute.language import guard, operators, sizes, targets
from app.compute.language.values import Method
from app.core.errors import InvalidArgument

if TYPE_CHECKING:
    from app.compute.language.evaluator import Evaluator


def method(container: Any, name: str) -> Method:
    """The method ``name`` of a container that has one."""
    function = METHODS[type(container)][name]

    def apply(run: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            result = function(run, container, *args, **kwargs)
        except TypeError:
            raise InvalidArgument(f"{name}() cannot take these arguments") from None
        except (IndexError, ValueError, KeyError):
            raise InvalidArgument(f"{name}() finds nothing there") from None
        if type(container) in (list, dict):
            sizes.checked_length(run, len(container) if len(container) > 64 else 0)
        return sizes.checked_text(run, result) if type(result) is str else result

    return Method(name, apply)


def _append(run: Evaluator, container: list[Any], item: Any) -> None:
    container.append(item)


def _extend(run: Evaluator, container: list[Any], items: Any) -> None:
    added = targets.items_of(run, items)
    sizes.checked_length(run, len(container) + len(added))
    container.extend(added)


def _insert(run: Evaluator, container: list[Any], index: Any, item: Any) -> None:
    container.insert(_static(index), item)


def _pop(run: Evaluator, container: list[Any], index: Any = -1) -> Any:
    return container.pop(_static(index))


def _static(index: Any) -> int:
    if type(index) is not int:
        raise TypeError("a static integer is needed")
    return index


def _index(run: Evaluator, container: Any, item: Any) -> int:
    for position, other in enumerate(container):
        if operators.equal(run, item, other):
            return position
    raise ValueError("not there")


def _count(run: Evaluator, container: Any, item: Any) -> int:
    return sum(operators.equal(run, item, other) for other in container)


def _reverse(run: Evaluator, container: list[Any]) -> None:
    container.reverse()


def _copy(run: Evaluator, container: Any) -> Any:
    sizes.checked_length(run, len(container))
    return container.copy()


def _keys(run: Evaluator, container: dict[Any, Any]) -> list[Any]:
    sizes.checked_length(run, len(container))
    return list(container)


def _values(run: Evaluator, container: dict[Any, Any]) -> list[Any]:
    sizes.checked_length(run, len(container))
    return list(container.values())


def _items(run: Evaluator, container: dict[Any, Any]) -> list[Any]:
    sizes.checked_length(run, len(container))
    return list(container.items())


def _get(run: Evaluator, container: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return container.get(guard.enter_key(run, key), default)


def _pop_key(run: Evaluator, container: dict[Any, Any], key: Any, *default: Any) -> Any:
    return container.pop(guard.enter_key(run, key), *default)


def _setdefault(run: Evaluator, container: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return container.setdefault(guard.enter_key(run, key), default)


def _update(run: Evaluator, container: dict[Any, Any], *others: Any, **named: Any) -> None:
    for other in (*others, named):
        if type(other) is not dict:
            raise TypeError("a dict is needed")
        sizes.checked_length(run, len(container) + len(other))
        container.update(other)


def _join(run: Evaluator, text: str, items: Any) -> str:
    parts = targets.items_of(run, items)
    if not all(type(part) is str for part in parts):
        raise TypeError("texts are needed")
    total = sum(len(part) for part in parts) + len(text) * len(parts)
    if total > run.limits.text:
        sizes.checked_text(run, " " * (run.limits.text + 1))
    return text.join(parts)


def _startswith(run: Evaluator, text: str, prefix: str) -> bool:
    return text.startswith(_text(prefix))


def _endswith(run: Evaluator, text: str, suffix: str) -> bool:
    return text.endswith(_text(suffix))


def _split(run: Evaluator, text: str, separator: Any = None) -> list[str]:
    return text.split(separator if separator is None else _text(separator))


def _strip(run: Evaluator, text: str, characters: Any = None) -> str:
    return text.strip(characters if characters is None else _text(characters))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("a text is needed")
    return value


METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    list: {
        "append": _append,
        "extend": _extend,
        "insert": _insert,
        "pop": _pop,
        "index": _index,
        "reverse": _reverse,
        "copy": _copy,
    },
    dict: {
        "keys": _keys,
        "values": _values,
        "items": _items,
        "get": _get,
        "copy": _copy,
        "pop": _pop_key,
        "update": _update,
        "setdefault": _setdefault,
    },
    tuple: {"index": _index, "count": _count},
    str: {
        "join": _join,
        "startswith": _startswith,
        "endswith": _endswith,
        "lower": lambda run, text: text.lower(),
        "upper": lambda run, text: text.upper(),
        "split": _split,
        "strip": _strip,
    },
}
