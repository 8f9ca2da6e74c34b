"""The scripts around the project: what finds Python, checks the pins, forbids skips."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.serving import ROOT


def test_pins_are_exact_and_name_no_host() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/check_locks.py"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_find_python_says_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/usr/bin/env", "bash", "scripts/find_python.sh"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHON": str(tmp_path / "none")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Python 3.11 or newer" in done.stderr


def test_find_python_prints_one_that_runs() -> None:
    done = subprocess.run(
        ["/usr/bin/env", "bash", "scripts/find_python.sh"],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == sys.executable


def test_a_skip_fails_where_skipping_is_forbidden(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_skips.py").write_text(
        "import pytest\n\ndef test_skipped():\n    pytest.skip('no such program')\n\n"
        "@pytest.mark.xfail\ndef test_expected_to_fail():\n    assert False\n"
    )

    def outcome(forbidden: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "GRADSERVE_TEST_NO_SKIP": forbidden},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout

    assert outcome("0")[0] == 0
    status, text = outcome("1")
    assert status == 1
    assert "1 failed, 1 xfailed" in text
    assert "no such program" in text
