"""Sparse Jacobians and Hessians through the engine; the unit is one evaluation of the function.

A derivative by colouring takes one product a colour; the target is that it costs no more than
colours + 2 evaluations of the function in the same engine.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import numpy as np
import scipy.sparse as sp

from app.compute.language import parse
from benchmarks.programs import Compiled, seconds
from benchmarks.rows import Findings, Growth, Row, within

SIZES = (10**3, 10**4, 10**5)
DENSE = 10**3
"""Unknowns for which the dense derivative is computed too."""
BUDGET_S = 1.5

TRIDIAGONAL = """
def broyden(x):
    left = jnp.concatenate([jnp.zeros(1), x[:-1]])
    right = jnp.concatenate([x[1:], jnp.zeros(1)])
    return (3 - 2 * x) * x - left - 2 * right + 1
"""
PENTADIAGONAL = """
def beam(x):
    y = jnp.concatenate([jnp.zeros(2), x, jnp.zeros(2)])
    bend = y[:-4] - 4 * y[1:-3] + 6 * y[2:-2] - 4 * y[3:-1] + y[4:]
    return bend + jnp.tanh(x) * x**2
"""
BRUSSELATOR = """
def brusselator(x):
    u, v = x.reshape(2, -1)
    def spread(w):
        ends = jnp.concatenate([w[:1], w, w[-1:]])
        return (ends[:-2] - 2 * w + ends[2:]) * 0.02 * w.size**2 / 1e4
    reaction = u**2 * v
    return jnp.concatenate([1 + reaction - 4 * u + spread(u), 3 * u - reaction + spread(v)])
"""
CHAIN = """
def energy(x):
    near = 100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2
    return jnp.sum(near) + jnp.sum(jnp.sin(x[2:] * x[:-2]))
"""


@dataclass(frozen=True)
class Problem:
    """A function whose derivative is sparse."""

    name: str
    verb: str
    source: str


PROBLEMS = (
    Problem("tridiagonal Jacobian (Broyden)", "jacobian", TRIDIAGONAL),
    Problem("pentadiagonal Jacobian (beam)", "jacobian", PENTADIAGONAL),
    Problem("Brusselator Jacobian", "jacobian", BRUSSELATOR),
    Problem("sparse Hessian of a chain", "hessian", CHAIN),
)


@dataclass(frozen=True)
class Figure:
    """One derivative of one size; ``evaluations`` is its time in evaluations of the function."""

    n: int
    colours: int
    evaluations: float
    ours_s: float
    function_s: float
    made_s: float
    dense: float | None


def measure(directory: Path) -> Findings:
    """A row for each function, the worst over its sizes; the rest as notes."""
    rows, growths, notes = [], [], []
    for problem in PROBLEMS:
        figures = [_figure(problem, n) for n in SIZES]
        worst = max(figures, key=_cost)
        rows.append(
            Row(
                f"{problem.name}, 10^3 to 10^5 unknowns",
                "evaluations of the function, colours + 2 of them",
                _cost(worst),
                1.0,
                0.5,
                worst.ours_s,
                worst.function_s * (worst.colours + 2),
                note=f"worst at {worst.n:,}; median {statistics.median(map(_cost, figures)):.2f}",
            )
        )
        growths.append(Growth(problem.name, {f.n: f.ours_s for f in figures}))
        made = {f.n: f.made_s for f in figures}
        growths.append(Growth(f"{problem.name}: pattern, colouring, tracing", made))
        notes.append(_note(problem, figures))
    return Findings(rows, growths, notes)


def _cost(figure: Figure) -> float:
    return figure.evaluations / (figure.colours + 2)


def _note(problem: Problem, figures: list[Figure]) -> str:
    told = ", ".join(f"{f.evaluations:.2f} evaluations at {f.n:,}" for f in figures)
    dense = next(f for f in figures if f.dense is not None)
    return (
        f"{problem.name}: {figures[0].colours} colours; {told}; jax's dense one takes "
        f"{dense.dense:,.0f} times as long at {dense.n:,}"
    )


def _figure(problem: Problem, n: int) -> Figure:
    x = np.random.default_rng(n).uniform(0.5, 1.5, n)
    function = Compiled("evaluate", problem.source, [x])
    derivative = Compiled(problem.verb, problem.source, [x], sparse=True)
    measures = {
        "ours": partial(seconds, lambda: derivative.run([x])),
        "function": partial(seconds, lambda: function.run([x])),
    }
    turns = within(BUDGET_S, measures)
    dense = None
    if n == DENSE:
        with_dense = measures | {"dense": partial(seconds, _dense(problem, x, derivative))}
        dense = within(BUDGET_S, with_dense).ratio("dense", "ours")
    return Figure(
        n,
        derivative.colours(),
        turns.ratio("ours", "function"),
        turns.median("ours"),
        turns.median("function"),
        derivative.lower_s,
        dense,
    )


def _dense(problem: Problem, x: np.ndarray, derivative: Compiled) -> Callable[[], object]:
    """What JAX computes without knowing the pattern; the sparse one is held to it."""
    transform = jax.hessian if problem.verb == "hessian" else jax.jacfwd
    whole = jax.jit(transform(parse(problem.source).bind()))
    values, indices, indptr = derivative.run([x])
    sparse = sp.csr_array((values, indices, indptr), (x.size, x.size))
    np.testing.assert_allclose(sparse.toarray(), whole(x), atol=1e-8)
    return lambda: whole(x).block_until_ready()
