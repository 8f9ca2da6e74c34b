"""Random calls with sparse matrices on a warm server, against gradients written out in NumPy.

Arguments by position or by name, ``wrt`` of every form, every layout, duplicates and any order.
The second call of each has other numbers and must find the program of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest

from tests.case_requests import decode
from tests.sparse.matrices import LAYOUTS, dense_of, entries_of, value_of

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Formula:
    """A function of sparse matrices (capitals) and vectors, its shapes and its gradients."""

    source: str
    shapes: dict[str, tuple[int, ...]]
    value: Callable[..., float]
    gradients: Callable[..., Arrays]


def _solved(A: np.ndarray, b: np.ndarray, c: np.ndarray) -> Arrays:
    x, y = np.linalg.solve(A, b), np.linalg.solve(A.T, c)
    return [-np.outer(y, x), y, x]


FORMULAS = {
    "squares": Formula(
        "lambda A, x: sum((A @ x)**2)",
        {"A": (5, 4), "x": (4,)},
        lambda A, x: np.sum((A @ x) ** 2),
        lambda A, x: [2 * np.outer(A @ x, x), 2 * A.T @ A @ x],
    ),
    "between": Formula(
        "def f(b, A, x):\n    return b @ (A @ x) + jnp.sum(A.T @ b)",
        {"b": (5,), "A": (5, 4), "x": (4,)},
        lambda b, A, x: b @ A @ x + np.sum(A.T @ b),
        lambda b, A, x: [A @ (x + 1), np.outer(b, x + 1), A.T @ b],
    ),
    "two": Formula(
        "lambda A, B, y: sum(A @ (B @ y))",
        {"A": (3, 5), "B": (5, 4), "y": (4,)},
        lambda A, B, y: np.sum(A @ B @ y),
        lambda A, B, y: [
            np.outer(np.ones(3), B @ y),
            np.outer(A.T @ np.ones(3), y),
            (A @ B).sum(0),
        ],
    ),
    "solved": Formula(
        "lambda A, b, c: sum(c * solve.linear_solve(A, b))",
        {"A": (5, 5), "b": (5,), "c": (5,)},
        lambda A, b, c: c @ np.linalg.solve(A, b),
        _solved,
    ),
}


def random_matrix(rng: np.random.Generator, seed: int, shape: tuple[int, ...], layout: str) -> Any:
    """14 entries and the diagonal, some cells twice, in any order that the layout allows.

    The cells are those of the seed: matrices of like numbers of cells share a program.
    """
    cells = np.random.default_rng(seed)
    rows, cols = (np.r_[cells.integers(0, size, 14), np.arange(min(shape))] for size in shape)
    values = rng.standard_normal(len(rows))
    values[14:] += 9
    order = rng.permutation(len(rows))
    return value_of(layout, rows[order], cols[order], values[order], shape)


def wire_of(given: Any) -> Any:
    if isinstance(given, np.ndarray):
        return given.tolist()
    parts = {name: part.tolist() for name, part in given.parts.items()}
    return {"layout": given.layout, "shape": list(given.shape), **parts}


@pytest.mark.parametrize("seed", range(8))
def test_random_calls(client: httpx.Client, seed: int) -> None:
    rng = np.random.default_rng(seed)
    formula = FORMULAS[list(FORMULAS)[seed % len(FORMULAS)]]
    names = list(formula.shapes)
    layouts = {name: str(rng.choice(LAYOUTS)) for name in names}
    asked = [int(place) for place in rng.permutation(len(names))[: rng.integers(1, len(names) + 1)]]
    by_name, alone = bool(rng.integers(2)), len(asked) == 1 and bool(rng.integers(2))
    wrt = [names[place] if rng.integers(2) else place for place in asked]
    for warm in (False, True):
        given = [
            random_matrix(rng, seed, shape, layouts[name])
            if name.isupper()
            else rng.standard_normal(shape)
            for name, shape in formula.shapes.items()
        ]
        sent = [wire_of(each) for each in given]
        body = {
            "function": formula.source,
            "args": dict(zip(names, sent, strict=True)) if by_name else sent,
            "wrt": wrt[0] if alone else wrt,
        }
        reply = client.post("/v1/value_and_grad", json=body)
        assert reply.status_code == 200, reply.text
        assert not warm or reply.json()["cache"] == "memory"
        result = reply.json()["result"]
        dense = [each if isinstance(each, np.ndarray) else dense_of(each) for each in given]
        np.testing.assert_allclose(result["value"], formula.value(*dense), rtol=1e-10)
        wanted = formula.gradients(*dense)
        for place, got in zip(asked, [result["grad"]] if alone else result["grad"], strict=True):
            if isinstance(given[place], np.ndarray):
                np.testing.assert_allclose(decode(got), wanted[place], rtol=1e-9, atol=1e-12)
                continue
            # one number for each entry that was sent, in the order sent
            at = entries_of(given[place])
            np.testing.assert_allclose(got["values"], wanted[place][at], rtol=1e-9, atol=1e-12)
