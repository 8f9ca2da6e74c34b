"""The compiled code of asdex's colouring: made once for an installation, only read by workers.

Numba compiles it at its first use, for seconds, and keeps it beside asdex. Workers may not write
there. ``python -m app.sparse.colouring`` makes it; a server does so before its first start.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from app.core import logging

LONGEST_S = 300.0


def ensure() -> None:
    """Compile the colouring where that is missing and can be kept, in a process of its own."""
    spec = importlib.util.find_spec("asdex")
    if spec is None or spec.origin is None:
        return
    folder = Path(spec.origin).parent / "coloring"
    kept = folder / "__pycache__"
    place = kept if kept.is_dir() else folder
    if any(kept.glob("*.nbi")) or not os.access(place, os.W_OK):
        return
    command = [sys.executable, "-m", "app.sparse.colouring"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=LONGEST_S)
    except (OSError, subprocess.SubprocessError) as error:
        logging.get("sparse").warning("colouring not compiled; workers will", reason=str(error))


def compile_all() -> None:
    """Colour a small pattern in each way, so that every function is compiled for its one type."""
    import asdex
    import numpy as np

    places = np.array([0, 1], np.int32)
    sparsity = asdex.SparsityPattern.from_coo(places, places, (2, 2))
    asdex.jacobian_coloring_from_sparsity(sparsity)
    asdex.hessian_coloring_from_sparsity(sparsity)


def only_read() -> None:
    """From here on this process and those forked from it write nothing of what they compile."""
    import numba.core.dispatcher

    for name, module in list(sys.modules.items()):
        if name.startswith("asdex."):
            for value in vars(module).values():
                if isinstance(value, numba.core.dispatcher.Dispatcher):
                    # Numba has no setting for it.
                    cache: Any = vars(value)["_cache"]
                    cache.save_overload = _forget


def _forget(*_: Any) -> None:
    pass


if __name__ == "__main__":
    compile_all()
