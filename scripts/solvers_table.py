"""Write docs/solvers-table.md: evaluations of the default methods beside SciPy's.

On the problems of Moré, Garbow and Hillstrom and of Hock and Schittkowski, as the tests write
them. ``python scripts/solvers_table.py`` solves them all (some minutes) and rewrites the page.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import scipy
from scipy import optimize

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.compute.language import parse  # noqa: E402 - the project is beside the script
from tests.compute.solvers import problems_hs, problems_mgh  # noqa: E402
from tests.compute.solvers.solving import solve  # noqa: E402

PAGE = ROOT / "docs" / "solvers-table.md"
MGH = ("problem", "n", "minimize", "trust-exact", "BFGS", "least_squares", "lm", "trf")
HS = ("problem", "n", "minimize", "SLSQP", "trust-constr")
HEAD = """# Evaluations beside SciPy's

How often each method evaluates the function, from the standard start, with its own default
tolerances. An entry in parentheses ended elsewhere than at the lowest published minimum; a dash
found nothing. `minimize` and `least_squares` are ours by their default methods, the other columns
are SciPy's, given exact derivatives. Newton's method (`minimize`, `trust-exact`) also takes a
Hessian an iteration, the others do not; the constrained ones count the values of the objective.

Written by `scripts/solvers_table.py` with {versions}.
"""

Answer = tuple[float, int]
"""The value found and the evaluations it took."""


def named(source: str, entry: str) -> Callable[[Any], Any]:
    """A function of a problem's source, compiled."""
    return jax.jit(parse(source, entry).bind())


def ours(verb: str, source: str, start: list[float], **options: Any) -> Answer:
    """By a verb's default method."""
    found = solve(verb, source, [start], **options)
    value = float(found["value"]) if found["success"] else np.nan
    return value, int(found["statistics"]["evaluations"])


def scipy_minimum(source: str, start: list[float], method: str, **given: Any) -> Answer:
    """By ``scipy.optimize.minimize`` with exact derivatives."""
    f = named(source, "f")
    gradient = jax.jit(jax.grad(f))
    if method in ("trust-exact", "trust-constr"):
        given["hess"] = jax.jit(jax.hessian(f))
    try:
        found = optimize.minimize(
            f, np.array(start), jac=gradient, method=method, options={"maxiter": 5000}, **given
        )
    except (ValueError, np.linalg.LinAlgError):
        return np.nan, 0
    off = violation(np.asarray(found.x), given)
    return (float(found.fun) if off <= 1e-6 else np.nan), int(found.nfev)


def violation(x: np.ndarray, given: dict[str, Any]) -> float:
    """By how much a point misses the constraints given to SciPy."""
    off = [0.0]
    for each in given.get("constraints", ()):
        value = np.asarray(each["fun"](x))
        off.append(float(np.max(np.abs(value) if each["type"] == "eq" else -value, initial=0.0)))
    return max(off)


def scipy_squares(source: str, start: list[float], method: str) -> Answer:
    """By ``scipy.optimize.least_squares`` with the exact Jacobian."""
    r = named(source, "r")
    jacobian: Any = jax.jit(jax.jacfwd(r))
    try:
        found = optimize.least_squares(r, start, jacobian, method=method, x_scale="jac")
    except (ValueError, np.linalg.LinAlgError):
        return np.nan, 0
    return 2 * float(found.cost), int(found.nfev)


def constrained(problem: problems_hs.Problem) -> dict[str, Any]:
    """Bounds and constraints as SciPy takes them."""
    given: dict[str, Any] = {"bounds": problem.options.get("bounds")}
    names = problem.options.get("constraints", {})
    kinds = [("ineq", names.get("inequality")), ("eq", names.get("equality"))]
    given["constraints"] = [
        {"type": kind, "fun": g, "jac": jax.jit(jax.jacfwd(g))}
        for kind, name in kinds
        if name
        for g in [named(problem.source, name)]
    ]
    return given


def mgh_row(problem: problems_mgh.Problem) -> list[str]:
    """One row of the first table."""
    source, start = problem.objective, problem.start
    answers = [
        ours("minimize", source, start),
        scipy_minimum(source, start, "trust-exact"),
        scipy_minimum(source, start, "BFGS"),
        ours("least_squares", problem.source, start),
        scipy_squares(problem.source, start, "lm"),
        scipy_squares(problem.source, start, "trf"),
    ]
    name = f"{problem.number} {problem.name.split(', n')[0]}"
    return [name, str(len(start)), *(shown(each, problem.minima[0]) for each in answers)]


def hs_row(problem: problems_hs.Problem) -> list[str]:
    """One row of the second table."""
    start = [float(x) for x in problem.start]
    given = constrained(problem)
    answers = [
        ours("minimize", problem.source, start, entry="f", **problem.options),
        scipy_minimum(problem.source, start, "SLSQP", **given),
        scipy_minimum(problem.source, start, "trust-constr", **given),
    ]
    return [
        str(problem.number),
        str(len(start)),
        *(shown(each, problem.minimum) for each in answers),
    ]


def shown(answer: Answer, minimum: float) -> str:
    """The evaluations, in parentheses where the published minimum was not reached."""
    value, evaluations = answer
    if not np.isfinite(value):
        return "–"
    reached = np.isclose(value, minimum, rtol=1e-4, atol=1e-6)
    return str(evaluations) if reached else f"({evaluations})"


def told(row: list[str]) -> list[str]:
    """The row, printed as it comes: all of them take minutes."""
    print(*row, flush=True)
    return row


def lines(title: str, columns: tuple[str, ...], rows: list[list[str]]) -> Iterator[str]:
    """A table, and how many problems each column solved."""
    yield f"\n## {title}\n"
    yield "| " + " | ".join(columns) + " |"
    yield "|---|" + "---:|" * (len(columns) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    solved = [sum(row[at].isdigit() for row in rows) for at in range(2, len(columns))]
    yield "| solved, of " + str(len(rows)) + " | | " + " | ".join(map(str, solved)) + " |"


def main() -> None:
    """Solve all and write the page."""
    warnings.simplefilter("ignore")
    jax.config.update("jax_enable_x64", True)
    versions = f"jax {jax.__version__}, scipy {scipy.__version__} and numpy {np.__version__}"
    first = [told(mgh_row(problem)) for problem in problems_mgh.PROBLEMS]
    second = [told(hs_row(problem)) for problem in problems_hs.PROBLEMS]
    page = [
        HEAD.format(versions=versions).rstrip("\n"),
        *lines("Moré, Garbow and Hillstrom: 35 problems", MGH, first),
        *lines("Hock and Schittkowski: 1 to 40 without 13", HS, second),
    ]
    PAGE.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
