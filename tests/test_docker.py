"""The container files, as far as they can be tried without an engine; CI tries the steps too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docker import dockerfile
from tests.serving import ROOT


def test_dockerfile_and_compose_hold_what_they_promise() -> None:
    done = subprocess.run(
        ["bash", "docker/check.sh", "--quick"],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("FROM a AS cpu\nENV GRADSERVE_PLATFORM=cpu\nHEALTHCHECK CMD []\nCMD []\n", "root"),
        ("FROM a AS cpu\nCOPY nothing-here .\nUSER me\n", "missing"),
        ("FROM a AS cpu\nCOPY --from=later /a /a\nUSER me\n", "not made before"),
        ("FROM a AS cpu\nUSER me\nCMD []\n", "HEALTHCHECK"),
    ],
)
def test_faults_are_found(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "Dockerfile"
    others = "".join(f"\nFROM cpu AS {name}\n" for name in ("cuda", "tpu"))
    path.write_text(text + others)
    assert any(fault in found for found in dockerfile.faults(dockerfile.read(path), ROOT))


def test_unknown_instructions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM a AS b\nRUNN something\n")
    with pytest.raises(ValueError, match="RUNN"):
        dockerfile.read(path)
