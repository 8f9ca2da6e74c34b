"""The fields of the solver verbs, checked by pydantic; the solvers refuse what types cannot say."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from app.routes.call_models import CallFields, Fields

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0, lt=2**31)]
End = float | Literal["Infinity", "-Infinity"] | None
Bounds = list[End] | list[list[End]]


class SolverFields(CallFields):
    """What every solver takes: the unknowns are ``wrt``, by default the first parameter."""

    method: str | None = None
    tol: Positive | None = None
    max_steps: Count | None = None


class TracedFields(SolverFields):
    """Solvers that can return the way they came, with 16 unknowns at most."""

    trace: bool | None = None


class MultiStart(Fields):
    """How many starts to draw, and how far away, beside each unknown's size."""

    count: Annotated[int, Field(gt=0, le=10_000)] = 20
    spread: Positive = 1.0


class MultiStartFields(TracedFields):
    """Solvers that can begin at many points: drawn ones, or the rows of ``starts``."""

    INPUTS: ClassVar[tuple[str, ...]] = ("seed", "starts")
    multi_start: MultiStart | None = None


class MinimizeFields(MultiStartFields):
    """minimize: bounds on the unknowns, constraints by the names of functions of the source."""

    bounds: Bounds | None = None
    constraints: dict[Literal["equality", "inequality"], str | list[str]] | None = None
    hessian: Literal["auto", "dense", "sparse", "hvp"] | None = None
    options: dict[str, Any] | None = None


class LeastSquaresFields(MultiStartFields):
    """least_squares: bounds on the unknowns."""

    bounds: Bounds | None = None


class RootFields(TracedFields):
    """root: a bracket of one unknown asks for bisection."""

    bounds: Bounds | None = None
    bracket: list[float] | None = None


class OdeFields(SolverFields):
    """ode: f(t, y, *parameters); ``event``, ``loss`` and ``noise`` name functions of the source."""

    INPUTS: ClassVar[tuple[str, ...]] = ("t0", "t1", "ts", "seed")
    rtol: Positive | None = None
    atol: Positive | list[Positive] | None = None
    dt0: Positive | None = None
    event: str | None = None
    loss: str | None = None
    adjoint: Literal["checkpoint", "backsolve"] | None = None
    noise: str | None = None
    paths: Count | None = None


class FitFields(SolverFields):
    """fit: a named model on X and y, or the client's loss(parameters, *data) in batches."""

    INPUTS: ClassVar[tuple[str, ...]] = ("seed",)
    function: str | dict[str, Any] = "lambda X, y: 0.0"
    model: Literal["linear", "ridge", "logistic", "poisson"] | None = None
    l2: Annotated[float, Field(ge=0)] | None = None
    intercept: bool | None = None
    options: dict[str, Any] | None = None
    batch_size: Count | None = None
    epochs: Count | None = None
    validation_split: Annotated[float, Field(ge=0, lt=1)] | None = None
    patience: Count | None = None


class LinearSolveFields(CallFields):
    """linear_solve: args are a matrix and one right-hand side, or many as columns."""

    function: str | dict[str, Any] = "lambda A, b: b"
    method: Literal["direct", "cg", "gmres", "bicgstab", "lsmr"] | None = None
    preconditioner: Literal["none", "jacobi", "ilu"] | None = None
    tol: Positive | None = None
    maxiter: Count | None = None
    damp: Annotated[float, Field(ge=0)] | None = None


class EigenFields(CallFields):
    """eigen: the argument is a matrix; ``which`` end of its spectrum, or near ``sigma``."""

    function: str | dict[str, Any] = "lambda A: 0.0"
    k: Count | None = None
    which: Literal["largest_magnitude", "smallest_magnitude", "largest", "smallest"] | None = None
    sigma: float | None = None
    symmetric: bool | None = None
    tol: Positive | None = None
    maxiter: Count | None = None


SOLVER_FIELDS: dict[str, type[CallFields]] = {
    "minimize": MinimizeFields,
    "root": RootFields,
    "least_squares": LeastSquaresFields,
    "fixed_point": TracedFields,
    "ode": OdeFields,
    "fit": FitFields,
    "linear_solve": LinearSolveFields,
    "eigen": EigenFields,
}
"""Every solver verb with the model of its fields."""
