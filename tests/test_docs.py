"""The documents agree with the code: settings and their defaults, errors and their numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.core import errors
from app.core.settings import Settings
from tests.serving import ROOT

ROW = re.compile(r"^\| `GRADSERVE_(\w+)` \| ([^|]+) \|", re.MULTILINE)
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def documented() -> dict[str, str]:
    """Setting names and defaults as docs/operations.md has them."""
    text = (ROOT / "docs" / "operations.md").read_text()
    return {name.lower(): default.strip() for name, default in ROW.findall(text)}


def same(written: str, default: Any) -> bool:
    """Whether a default reads as the document says."""
    if default is None or default == ():
        return written in {"none", "made and kept"}
    if isinstance(default, bool):
        return written == str(default).lower()
    if isinstance(default, (int, float)):
        number, _, unit = written.partition(" ")
        return float(number) * UNITS.get(unit, 1) == default
    if isinstance(default, (Path, SecretStr)):
        return True
    return written == str(default)


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    written = documented()
    assert name in written, f"docs/operations.md lacks GRADSERVE_{name.upper()}"
    default = Settings.model_fields[name].get_default(call_default_factory=True)
    assert same(written[name], default), f"{name}: {written[name]!r} is not {default!r}"


def test_no_setting_is_documented_that_does_not_exist() -> None:
    assert set(documented()) <= set(Settings.model_fields)


def test_every_error_status_is_in_the_api_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    table = page[page.index("| status | when |") :]
    for error in errors.BY_SLUG.values():
        assert str(error.status) in table, f"{error.slug}: {error.status} is not explained"
