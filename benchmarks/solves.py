"""Solves with the Laplacian of a square grid, through the engine, against SciPy's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg, spsolve

from benchmarks import matrices
from benchmarks.programs import Compiled, seconds
from benchmarks.rows import Findings, Growth, Row, Turns, within

SIDES = (100, 316, 632)
"""10^4, 10^5 and 4·10^5 unknowns."""
TOLERANCE = 1e-6
ROUNDS = {100: 5, 316: 3, 632: 1}
SOURCE = "lambda A, b: A @ b"
"""The verb takes no function; a program has a source all the same."""


@dataclass(frozen=True)
class Solves:
    """What was measured with one grid."""

    unknowns: int
    first: Turns
    repeated: Turns
    iterative: Turns


def measure(directory: Path) -> Findings:
    """The row about repeated solves; first and iterative ones as notes."""
    found = [_solves(side) for side in SIDES]
    rows = [
        Row(
            f"repeated solve of a 2-D Laplacian, {each.unknowns:,} unknowns",
            "SciPy spsolve",
            each.repeated.median("ours") / each.first.median("theirs"),
            1 / 20,
            1 / 40,
            each.repeated.median("ours"),
            each.first.median("theirs"),
        )
        for each in found
    ]
    names = {
        "direct solve, first": lambda each: each.first.median("ours"),
        "direct solve, repeated": lambda each: each.repeated.median("ours"),
        "SciPy spsolve": lambda each: each.first.median("theirs"),
        "solve by cg": lambda each: each.iterative.median("ours"),
        "SciPy cg": lambda each: each.iterative.median("theirs"),
    }
    growths = [
        Growth(f"2-D Laplacian, {name}", {each.unknowns: cost(each) for each in found})
        for name, cost in names.items()
    ]
    return Findings(rows, growths, [note for each in found for note in _notes(each)])


def _notes(each: Solves) -> list[str]:
    return [
        f"2-D Laplacian, {each.unknowns:,} unknowns: first direct solve "
        f"{each.first.ratio('ours', 'theirs'):.2f} of SciPy spsolve, cg to {TOLERANCE:g} "
        f"{each.iterative.ratio('ours', 'theirs'):.2f} of SciPy cg"
    ]


def _solves(side: int) -> Solves:
    matrix = matrices.laplacian(side)
    A, b = matrices.canonical(matrix), np.random.default_rng(side).standard_normal(side**2)
    direct = Compiled("linear_solve", SOURCE, [A, b])
    krylov = Compiled("linear_solve", SOURCE, [A, b], method="cg", tol=TOLERANCE)
    for solve in (direct, krylov):
        miss = np.linalg.norm(matrix @ solve(A, b)["x"] - b) / np.linalg.norm(b)
        assert miss <= 10 * TOLERANCE, f"a solution misses by {miss:g}"
    fresh = count(1)

    def first() -> object:
        """Another matrix each time: no factors are kept of it."""
        return direct(replace(A, values=A.values * (1 + next(fresh) / 1024)), b)

    columns = sp.csc_array(matrix)
    rounds = ROUNDS[side]
    return Solves(
        side**2,
        within(
            0.0,
            {
                "ours": partial(seconds, first),
                "theirs": partial(seconds, lambda: spsolve(columns, b)),
            },
            rounds,
        ),
        within(0.5, {"ours": partial(seconds, lambda: direct(A, b))}),
        within(
            0.0,
            {
                "ours": partial(seconds, lambda: krylov(A, b)),
                "theirs": partial(seconds, lambda: cg(matrix, b, rtol=TOLERANCE, atol=0.0)),
            },
            rounds,
        ),
    )
