"""The built pages in Chromium, against a real server: at three sizes, as a user drives them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT, ServerProcess

HERE = Path(__file__).parent
SIZES = ("1280x860", "1728x1080", "390x844")


def _drive(server: ServerProcess, chromium: str, file: str, size: str) -> str:
    if not (ROOT / "web" / "node_modules" / "playwright-core").is_dir():
        pytest.skip("web/node_modules is missing (npm ci in web/)")
    if not (ROOT / "app" / "web_dist" / "index.html").is_file():
        pytest.skip("the playground is not built (make web)")
    done = subprocess.run(
        ["node", "--test", "--test-reporter=spec", str(HERE / file)],
        env={
            **os.environ,
            "PLAYGROUND_URL": server.url.rstrip("/"),
            "PLAYGROUND_SIZE": size,
            "CHROMIUM": chromium,
            "PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        timeout=570,
        check=False,
    )
    if done.returncode:
        pytest.fail(done.stdout[-8000:] + done.stderr[-2000:], pytrace=False)
    return done.stdout


@pytest.fixture(autouse=True)
def _node() -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", SIZES)
def test_a_user_on_the_playground(server: ServerProcess, chromium: str, size: str) -> None:
    _drive(server, chromium, "playground.test.mjs", size)


@pytest.mark.timeout(300)
def test_what_the_page_refuses(server: ServerProcess, chromium: str) -> None:
    _drive(server, chromium, "refusals.test.mjs", SIZES[0])


@pytest.mark.timeout(600)
def test_weight_and_smoothness(server: ServerProcess, chromium: str) -> None:
    said = _drive(server, chromium, "smooth.test.mjs", SIZES[0])
    print("\n".join(re.findall(r"(?:weight|HLO|curve|matrix).*", said)))


@pytest.mark.timeout(120)
def test_the_api_page(server: ServerProcess, chromium: str) -> None:
    _drive(server, chromium, "docs_page.test.mjs", SIZES[0])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("command", [("run", "check"), ("test",)])
def test_types_and_logic_of_the_page(command: tuple[str, ...]) -> None:
    if not (ROOT / "web" / "node_modules").is_dir():
        pytest.skip("web/node_modules is missing (npm ci in web/)")
    done = subprocess.run(
        ["npm", *command], cwd=ROOT / "web", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]


def test_the_lock_file_names_no_registry() -> None:
    lock = (ROOT / "web" / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert "omit-lockfile-registry-resolved=true" in (ROOT / "web" / ".npmrc").read_text()
