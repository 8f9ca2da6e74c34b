"""Fields that do not fit: every refusal says where, what the field takes, and what to send."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import InvalidArgument
from app.routes.models import VERB_FIELDS, validate

CASES: list[tuple[dict[str, Any], str, str, str | None]] = [
    ({"function": None}, "/function", "function takes a string or an object, not null", "lambda"),
    ({"wrt": True}, "/wrt", "wrt takes an integer, a string or a list, not a bool", '["x", "y"]'),
    ({"wrt": [0, 1.5]}, "/wrt/1", "wrt.1 takes an integer or a string, not the number 1.5", "name"),
    ({"static": 3}, "/static", "static takes an object, not the number 3", '{"n": 3}'),
    ({"static": {"n": {}}}, "/static/n", "static values are finite numbers", None),
    ({"vmap": 3}, "/vmap", "vmap takes an object, not the number 3", "in_axes"),
    ({"vmap": {"a": 1}}, "/vmap/a", "No field 'a' here", "Known fields: in_axes, out_axes"),
    ({"vmap": {"in_axis": 1}}, "/vmap/in_axis", "No field 'in_axis'", "Did you mean in_axes?"),
    ({"dtype": "float16"}, "/dtype", 'dtype takes "float64" or "float32", not "float16"', None),
    ({"dtype": None}, "/dtype", "not null", "Leave the field out"),
    ({"output": {"layout": "x"}}, "/output/layout", 'output.layout takes "coo", "csr"', "layout"),
    ({"output": {"store": 1}}, "/output/store", "takes true or false, not the number 1", None),
    ({"timeout_s": 0}, "/timeout_s", "timeout_s takes more than 0.0, not the number 0", "Seconds"),
    ({"argz": []}, "/argz", "No field 'argz' here", "Did you mean args?"),
    ({"zzz": []}, "/zzz", "No field 'zzz' here", "function, args, wrt"),
]


@pytest.mark.parametrize(("fields", "pointer", "detail", "hint"), CASES)
def test_what_does_not_fit_is_told_in_the_words_of_the_api(
    fields: dict[str, Any], pointer: str, detail: str, hint: str | None
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        validate(VERB_FIELDS["grad"], {"function": "x", **fields})
    assert caught.value.pointer == pointer
    assert detail in caught.value.detail
    assert (hint or "") in (caught.value.hint or "")


def test_branches_of_a_union_are_no_part_of_the_path() -> None:
    for fields, pointer in [({"dense": 0}, "/dense"), ({"atol": [1e-3, 0]}, "/atol/1")]:
        with pytest.raises(InvalidArgument, match="more than 0") as caught:
            validate(VERB_FIELDS["ode"], {"function": "x", **fields})
        assert caught.value.pointer == pointer


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InvalidArgument, match="'function' is missing") as caught:
        validate(VERB_FIELDS["grad"], {})
    assert caught.value.pointer == "/function"
