"""The fields of the solver verbs, checked by pydantic; the solvers refuse what types cannot say."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from app.core.errors import InvalidArgument
from app.routes.call_models import CallFields, Fields

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0, lt=2**31)]
End = float | Literal["Infinity", "-Infinity"] | None
Bounds = list[End] | list[list[End]]


OPTIMISERS = (
    "sgd adam adamw lion rmsprop adagrad adamax nadam radam lamb yogi adabelief adadelta adafactor "
    "adamaxw adan amsgrad fromage lars nadamw novograd optimistic_adam "
    "optimistic_gradient_descent rprop sign_sgd sm3"
).split()


def _methods(*names: str) -> Any:
    """A method, of which the document names those there are; the solver refuses others."""
    return Field(None, examples=list(names))


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

    method: str | None = _methods(
        "auto", "newton", "bfgs", "l_bfgs", "nonlinear_cg", "nelder_mead", *OPTIMISERS
    )
    bounds: Bounds | None = None
    constraints: dict[Literal["equality", "inequality"], str | list[str]] | None = None
    hessian: Literal["auto", "dense", "sparse", "hvp"] | None = None
    options: dict[str, Any] | None = None


class LeastSquaresFields(MultiStartFields):
    """least_squares: bounds on the unknowns."""

    method: str | None = _methods("levenberg_marquardt", "gauss_newton", "dogleg")
    bounds: Bounds | None = None


class RootFields(TracedFields):
    """root: a bracket of one unknown asks for bisection."""

    method: str | None = _methods("newton", "broyden", "chord", "bisection")
    bounds: Bounds | None = None
    bracket: list[float] | None = None


class FixedPointFields(TracedFields):
    """fixed_point: from the start to x = f(x)."""

    method: str | None = _methods("anderson", "plain")


class OdeFields(SolverFields):
    """ode: f(t, y, *parameters); ``event``, ``loss`` and ``noise`` name functions of the source."""

    INPUTS: ClassVar[tuple[str, ...]] = ("t0", "t1", "ts", "seed")
    method: str | None = _methods(
        *("auto", "tsit5", "dopri5", "dopri8", "kvaerno5", "kvaerno3"),
        *("leapfrog", "symplectic_euler", "yoshida4", "yoshida6"),
        *("euler_maruyama", "milstein", "heun"),
    )
    rtol: Positive | None = None
    atol: Positive | list[Positive] | None = None
    dt0: Positive | None = None
    event: str | None = None
    loss: str | None = None
    adjoint: Literal["checkpoint", "backsolve"] | None = None
    noise: str | None = None
    paths: Count | None = None
    dense: bool | Count | None = None


class FitFields(CallFields):
    """fit: a named model on X and y, or the client's loss(parameters, *data) in batches.

    Of a ``function`` beside a model only the names of its parameters count, as those of ``args``.
    """

    INPUTS: ClassVar[tuple[str, ...]] = ("seed",)
    function: str | dict[str, Any] = "lambda X, y: 0.0"
    method: str | None = _methods(*OPTIMISERS)
    max_steps: Count | None = None
    model: Literal["linear", "ridge", "logistic", "poisson"] | None = None
    l2: Annotated[float, Field(ge=0)] | None = None
    intercept: bool | None = None
    options: dict[str, Any] | None = None
    batch_size: Count | None = None
    epochs: Count | None = None
    validation_split: Annotated[float, Field(ge=0, lt=1)] | None = None
    patience: Count | None = None

    @model_validator(mode="after")
    def _is_of_something(self) -> Self:
        if self.model is None and "function" not in self.model_fields_set:
            raise InvalidArgument(
                "fit needs a loss of your own in function, or a model by its name",
                pointer="/function",
                hint='{"model": "linear", "args": [X, y]}, or {"function": "def loss(w, X, y): …"}',
            )
        return self


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
    "fixed_point": FixedPointFields,
    "ode": OdeFields,
    "fit": FitFields,
    "linear_solve": LinearSolveFields,
    "eigen": EigenFields,
}
"""Every solver verb with the model of its fields."""
