"""Write the table of docs/sparse.md from the list of operations that the tests hold to dense JAX.

``python scripts/sparse_table.py`` rewrites the page, with ``--check`` it fails where the page is
out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.sparse.matrix import SparseMatrix  # noqa: E402 - the project is beside the script
from tests.sparse import test_sparsify as tested  # noqa: E402

PAGE = ROOT / "docs" / "sparse.md"
BEGIN, END = "<!-- table: scripts/sparse_table.py -->\n", "<!-- end of table -->\n"
KINDS = ("a matrix on the pattern of A", "a matrix on another pattern", "a dense array", "a number")


def kind_of(operation: Callable[[Any, Any], Any]) -> str:
    """What an operation gives, found by tracing it."""
    A, B = tested.pair()
    found: list[str] = []

    def traced(a: Any, b: Any) -> Any:
        result = operation(a, b)
        if isinstance(result, SparseMatrix):
            found.append(KINDS[0] if result.indices is a.indices else KINDS[1])
        else:
            found.append(KINDS[2] if jax.numpy.ndim(result) else KINDS[3])
        return result

    jax.eval_shape(traced, A, B)
    return found[0]


def written(name: str) -> str:
    """An operation of the list as it would be written."""
    family, _, last = name.rpartition(".")
    if " " in name or "(" in name or (not family.isidentifier() and "." not in family):
        return name
    signs = {"neg": "-A", "pos": "+A"}
    forms = {"attribute": f"A.{last}", "method": f"A.{last}()", "operator": signs.get(last, last)}
    return forms.get(family, f"{name}(A)")


def table() -> str:
    """The rows, in the order of the tests."""
    rows: dict[str, list[str]] = {kind: [] for kind in (*KINDS, "refused")}
    for name, operation in tested.OPERATIONS.items():
        rows[kind_of(operation)].append(f"`{written(name)}`")
    rows["refused"] = [f"`{name}`" for name in tested.REFUSED if name != "odd keyword"]
    lines = [f"| {kind} | {', '.join(names)} |" for kind, names in rows.items()]
    return "\n".join(["| result | operations |", "|---|---|", *lines]) + "\n"


def main() -> int:
    """Rewrite the page, or say that it is out of date."""
    page = PAGE.read_text()
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    fresh = page[:start] + table() + page[end:]
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(fresh)
    elif fresh != page:
        print("docs/sparse.md is out of date: run scripts/sparse_table.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
