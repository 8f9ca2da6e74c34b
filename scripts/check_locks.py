"""Check the pins: exact versions only, and no registry host in any lock file of the project."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PIN = re.compile(r"[A-Za-z0-9._-]+(\[[a-z0-9,_-]+\])?==[^\s;]+(\s*;.*)?")
HOST = re.compile(r"https?://|--(extra-)?index-url|--find-links|@ file:")


def requirement_faults(path: Path) -> Iterator[str]:
    """Lines of a requirements file that are neither a comment nor an exact pin."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.split("#")[0].strip()
        if text and (HOST.search(text) or not PIN.fullmatch(text)):
            yield f"{path.relative_to(ROOT)}:{number}: not an exact pin: {text}"


def npm_faults(path: Path) -> Iterator[str]:
    """Packages of an npm lock file whose address names the host it was fetched from."""
    packages = json.loads(path.read_text()).get("packages", {})
    for name, package in packages.items():
        if "://" in str(package.get("resolved", "")):
            yield f"{path.relative_to(ROOT)}: {name} names a registry host"


def main() -> int:
    """Print every fault; the exit status says whether there was one."""
    pins = (ROOT / "requirements").glob("*.txt")
    faults = [fault for path in pins for fault in requirement_faults(path)]
    for path in ROOT.glob("web/package-lock.json"):
        faults += npm_faults(path)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
