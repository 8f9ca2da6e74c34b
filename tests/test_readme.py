"""The README and the documents are run: each block after ``<!-- test -->``, on a real server.

A ``sh`` block is compared with the ``json`` block below it, where "…" stands for anything and
``cache`` for any of its three words. Python and JavaScript blocks print what their trailing
comments say.
"""

from __future__ import annotations

import ast
import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.serving import ROOT, ServerProcess

MARK = "<!-- test -->"
BLOCK = re.compile(r"```(\w+)\n(.*?)```(?:\n```json\n(.*?)```)?", re.DOTALL)
PAGES = ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
ADDRESS = re.compile(r"(http://)?(localhost|127\.0\.0\.1):8000")


@dataclass(frozen=True)
class Example:
    """One tested block: its page and line, language, text, and what is expected."""

    where: str
    language: str
    text: str
    expected: str


def examples(*languages: str) -> list[Any]:
    """The tested blocks in these languages, as pytest parameters."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for part in re.finditer(re.escape(MARK) + "\n", text):
            block = BLOCK.match(text, part.end())
            line = text.count("\n", 0, part.end()) + 1
            assert block is not None, f"{page}:{line}: no block follows the mark"
            if block[1] in languages:
                example = Example(f"{page}:{line}", block[1], block[2], block[3] or "")
                found.append(pytest.param(example, id=example.where))
    return found


def at(server: ServerProcess, text: str) -> str:
    """The example, with its address replaced by the test server's."""
    return ADDRESS.sub(server.url, text)


def run(command: list[str], text: str = "") -> str:
    """What a command writes; it must succeed."""
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, cwd=ROOT, timeout=100
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def agree(got: Any, expected: Any, path: str = "") -> None:
    """Assert that a document is what an example promises."""
    if isinstance(expected, str) and "…" in expected:
        pattern = ".*".join(re.escape(part) for part in expected.split("…"))
        assert re.fullmatch(pattern, str(got), re.DOTALL), f"{path}: {got!r}"
    elif path.endswith("/cache"):
        assert got in {"compiled", "store", "memory"}
    elif isinstance(expected, dict):
        assert isinstance(got, dict), f"{path}: {got!r}"
        assert set(expected) <= set(got), f"{path}: {sorted(got)} lacks {sorted(expected)}"
        for name, value in expected.items():
            agree(got[name], value, f"{path}/{name}")
    elif isinstance(expected, list):
        assert isinstance(got, list), f"{path}: {got!r}"
        assert len(got) == len(expected), f"{path}: {got!r}"
        for index, (one, other) in enumerate(zip(got, expected, strict=True)):
            agree(one, other, f"{path}/{index}")
    elif isinstance(expected, float):
        assert math.isclose(got, expected, rel_tol=1e-12, abs_tol=1e-12), f"{path}: {got!r}"
    else:
        assert got == expected, f"{path}: {got!r}"


@pytest.mark.parametrize("example", examples("sh"))
def test_curl(server: ServerProcess, example: Example) -> None:
    output = run(["bash", "-euo", "pipefail", "-c", at(server, example.text)])
    agree(json.loads(output.splitlines()[-1]), json.loads(example.expected))


@pytest.mark.parametrize("example", examples("python"))
def test_python(server: ServerProcess, example: Example) -> None:
    compare_lines(run([sys.executable, "-c", at(server, example.text)]), example.text, "#")


@pytest.mark.parametrize("example", examples("javascript"))
def test_javascript(server: ServerProcess, example: Example) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed (apt-get install nodejs)")
    output = run([node, "--input-type=module", "-"], at(server, example.text))
    compare_lines(output, example.text, "//")


def compare_lines(output: str, text: str, comment: str) -> None:
    """Each printing line's trailing comment is what it printed."""
    printing = (line for line in text.splitlines() if re.match(r"\s*(print|console\.log)\(", line))
    promised = [line.rpartition(f" {comment} ")[2] for line in printing]
    assert promised, "the example prints nothing"
    assert len(promised) == len(output.splitlines()), output
    for got, expected in zip(output.splitlines(), promised, strict=True):
        agree(value(got), value(expected))


def value(text: str) -> Any:
    """A printed value: JSON or a Python literal, else the text."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *(
    str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))])  # fmt: skip
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{page} links to {target}"
