"""Why a solver stopped: one code for all solvers, the sentence of each, and which are successes.

Programs return the code as an int32; the service puts the sentence in its place. No JAX here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any


class Outcome(IntEnum):
    """Codes; ``RUNNING`` is never a result."""

    RUNNING = 0
    GRADIENT = 1
    PRECISION = 2
    STEP = 3
    ROOT = 4
    FIXED_POINT = 5
    FEASIBLE = 6
    RESIDUAL = 7
    END = 8
    EVENT = 9
    EXACT = 10
    TRAINED = 11
    STOPPED_EARLY = 12
    LIMIT = 13
    START = 14
    LINE_SEARCH = 15
    UNBOUNDED = 16
    STALLED = 17
    STATIONARY = 18
    SINGULAR = 19
    NO_SIGN_CHANGE = 20
    POLE = 21
    DIVERGED = 22
    INFEASIBLE = 23
    STEP_UNDERFLOW = 24
    NOT_FINITE = 25
    RANK = 26
    SEPARATED = 27
    ONE_CLASS = 28
    DATA = 29
    LABELS = 30
    TIMES = 31
    SIMPLEX = 32
    WORSENED = 33
    LEVEL = 34
    ROOM = 35
    FLAT = 36


SENTENCES: Mapping[Outcome, str] = MappingProxyType(
    {
        Outcome.RUNNING: "running",
        Outcome.GRADIENT: "converged: the gradient is within tolerance",
        Outcome.PRECISION: "converged: the value cannot be decreased at this precision",
        Outcome.STEP: "converged: the step is within tolerance",
        Outcome.ROOT: "converged: the function is zero within tolerance",
        Outcome.FIXED_POINT: "converged: the point maps to itself within tolerance",
        Outcome.FEASIBLE: "converged: constraints hold and the Lagrangian is stationary",
        Outcome.RESIDUAL: "converged: the residual is zero within tolerance",
        Outcome.END: "finished: the end of the interval was reached",
        Outcome.EVENT: "finished: the event occurred",
        Outcome.EXACT: "finished: solved directly",
        Outcome.TRAINED: "finished: all epochs were run",
        Outcome.STOPPED_EARLY: "finished: the validation loss stopped falling",
        Outcome.LIMIT: "stopped: the limit of steps was reached",
        Outcome.START: "failed: the function or its derivative is not finite at the start",
        Outcome.LINE_SEARCH: "failed: no step along the search direction decreases the value",
        Outcome.UNBOUNDED: "failed: the value falls without limit",
        Outcome.STALLED: "stopped: steps became too small before the gradient was within "
        "tolerance; the function may not be smooth here",
        Outcome.STATIONARY: "failed: the norm of the function has a local minimum here, not a root",
        Outcome.SINGULAR: "failed: the Jacobian is singular here",
        Outcome.NO_SIGN_CHANGE: "failed: the function has the same sign at both ends of the "
        "bracket",
        Outcome.POLE: "failed: the sign changes at a pole or a jump, not at a root",
        Outcome.DIVERGED: "failed: the iterates diverge",
        Outcome.INFEASIBLE: "failed: the constraints could not be satisfied",
        Outcome.STEP_UNDERFLOW: "failed: the step size became too small; the solution may blow "
        "up here",
        Outcome.NOT_FINITE: "failed: values became infinite or not a number",
        Outcome.RANK: "failed: the columns of X (with the intercept) are linearly dependent: "
        "coefficients are not unique",
        Outcome.SEPARATED: "failed: the classes are perfectly separated: no finite coefficients "
        "maximise the likelihood; add an l2 penalty",
        Outcome.ONE_CLASS: "failed: y holds one class only",
        Outcome.DATA: "failed: X or y holds a value that is infinite or not a number",
        Outcome.LABELS: "failed: y holds values that the model does not allow",
        Outcome.TIMES: "failed: t0, t1 and ts are finite, and ts lies between t0 and t1",
        Outcome.SIMPLEX: "converged: the simplex and its values are within tolerance of one point",
        Outcome.WORSENED: "failed: the loss ended above its start; a lower learning_rate may help",
        Outcome.LEVEL: "finished: the training loss stopped falling",
        Outcome.ROOM: "stopped: dense output has no room for more steps; ask for more in dense",
        Outcome.FLAT: "stopped: the function has the same value at and all around the start; start "
        "elsewhere, or send the unknowns in other units",
    }
)

SUCCESSES = frozenset(
    {
        Outcome.GRADIENT,
        Outcome.PRECISION,
        Outcome.STEP,
        Outcome.ROOT,
        Outcome.FIXED_POINT,
        Outcome.FEASIBLE,
        Outcome.RESIDUAL,
        Outcome.END,
        Outcome.EVENT,
        Outcome.EXACT,
        Outcome.TRAINED,
        Outcome.STOPPED_EARLY,
        Outcome.SIMPLEX,
        Outcome.LEVEL,
    }
)

META: Mapping[str, Any] = MappingProxyType(
    {
        "outcomes": [SENTENCES[code] for code in Outcome],
        "successes": sorted(int(code) for code in SUCCESSES),
        "statistics": [
            "iterations",
            "evaluations",
            "steps",
            "rejected",
            "epochs",
            "degrees_of_freedom",
            "at_bounds",
            "bad_row",
        ],
    }
)
"""What the metadata of every solver program holds: sentences by code, codes of success,
and which results are counts."""
