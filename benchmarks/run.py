"""``make bench``: measure every family, print its table, record it under benchmarks/results/.

Families can be named (``python -m benchmarks.run gradients stall``); the others keep their record.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    cold,
    gradients,
    jacobians,
    report,
    solvers,
    solves,
    sparse,
    stall,
    workers,
)
from benchmarks.rows import Findings

FAMILIES: dict[str, Callable[[Path], Findings]] = {
    "gradients": gradients.measure,
    "stall": stall.measure,
    "cold": cold.measure,
    "workers": workers.measure,
    "sparse": sparse.measure,
    "solves": solves.measure,
    "jacobians": jacobians.measure,
    "solvers": solvers.measure,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the families asked for; 1 when a family could not be measured."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; default all")
    chosen = parser.parse_args(arguments).families or list(FAMILIES)
    if unknown := set(chosen) - set(FAMILIES):
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    failed = False
    for name in chosen:
        start = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(prefix="gradserve-bench-") as directory:
                findings = FAMILIES[name](Path(directory))
        except Exception as error:  # noqa: BLE001  one family must not cost the others
            failed = True
            print(f"{name}: could not be measured: {error!r:.300}", file=sys.stderr)
            continue
        made = report.conditions()
        print(report.markdown(findings, made), flush=True)
        table = report.write(name, findings, made).relative_to(report.ROOT)
        print(f"{name}: {time.monotonic() - start:.0f} s, recorded in {table}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
