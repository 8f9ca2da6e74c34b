"""The compiled code of the colouring: kept where it is made for an installation, else forgotten."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SPARE = """
import asdex
from app.sparse import colouring
colouring.only_read()
colouring.compile_all()
"""


@pytest.mark.parametrize(("source", "kept"), [(SPARE, False), (None, True)])
def test_only_an_installation_keeps_what_it_compiles(
    tmp_path: Path, source: str | None, kept: bool
) -> None:
    command = ["-c", source] if source else ["-m", "app.sparse.colouring"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, *command], env=environment, check=True, timeout=120)
    assert bool(list(tmp_path.rglob("*.nbi"))) is kept
