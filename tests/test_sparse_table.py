"""The table in docs/sparse.md is what the tests of the operations say."""

from __future__ import annotations

import subprocess
import sys

from tests.serving import ROOT


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/sparse_table.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
