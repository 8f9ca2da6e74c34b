"""Build the C++ kernels: ``python -m app.sparse.kernels.build``; also called at server start.

Needs a C++17 compiler and the headers that jaxlib ships; imports neither JAX nor jaxlib. Without
a compiler nothing breaks: the pure-JAX kernels serve. The library's name holds a digest of its
source, jaxlib's version and the machine, so a stale one is never loaded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from app.core import logging

SOURCE = Path(__file__).with_name("csr.cc")
COMPILERS = ("c++", "g++", "clang++")
LOOPS = SOURCE.with_name("loops.h")
# What gains from vectors is written with them. Left to itself the compiler also gathers the
# terms of a row into vectors, which takes up to 1.6 times as long as one by one; and a loop of
# six instructions that straddles a cache line takes 1.2 times as long.
FLAGS = (
    *("-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math"),
    *("-fno-tree-vectorize", "-falign-loops=64"),
)


def digest() -> str:
    """What identifies the library: 16 hex digits; part of a program's key where it is used."""
    sources = (SOURCE.read_text(), LOOPS.read_text())
    told = (*sources, importlib.metadata.version("jaxlib"), platform.machine(), *FLAGS)
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]


def places() -> tuple[Path, ...]:
    """Where the library may lie, in order: beside its source, then the user's cache."""
    name = f"csr-{digest()}.so"
    return (SOURCE.with_name(name), Path.home() / ".cache" / "gradserve" / name)


def find() -> Path | None:
    """The library, if it was built for this source, jaxlib and machine."""
    return next((place for place in places() if place.is_file()), None)


def ensure(compiler: str | None = None) -> Path | None:
    """The library, built where missing (seconds); ``None`` and one log line if it cannot be."""
    found = find()
    if found is not None:
        return found
    command = compiler or next(filter(None, map(shutil.which, COMPILERS)), None)
    include = _headers()
    if command is None or include is None:
        logging.get("sparse").info("no C++ compiler found: sparse kernels run in pure JAX, slower")
        return None
    for place in places():
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _compile(command, include, place)
        except OSError:
            continue
        except subprocess.SubprocessError as error:
            reason = str(getattr(error, "stderr", None) or error)[:2000]
            logging.get("sparse").warning("kernels not compiled, pure JAX serves", reason=reason)
            return None
        return place
    return None


def _headers() -> Path | None:
    spec = importlib.util.find_spec("jaxlib")
    roots = spec.submodule_search_locations if spec else None
    found = Path(next(iter(roots))) / "include" if roots else None
    return found if found and (found / "xla" / "ffi" / "api" / "ffi.h").is_file() else None


def _compile(command: str, include: Path, place: Path) -> None:
    """Compile to a file of its own, then move it: two processes may build at once."""
    handle, target = tempfile.mkstemp(suffix=".so", dir=place.parent)
    os.close(handle)
    line = [command, *FLAGS, "-shared", "-fPIC", "-I", str(include), str(SOURCE), "-o", target]
    try:
        subprocess.run(line, check=True, capture_output=True, text=True, timeout=300)
        os.chmod(target, 0o755)
        os.replace(target, place)
    finally:
        Path(target).unlink(missing_ok=True)


if __name__ == "__main__":
    print(ensure() or "not built")
