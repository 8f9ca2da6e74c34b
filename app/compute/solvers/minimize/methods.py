"""The methods of ``minimize`` by name, the choice that ``auto`` makes, and what each can honour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.compute.solvers import options as read
from app.compute.solvers.box import Box
from app.compute.solvers.fit.optimisers import OPTIMISERS, optimiser
from app.compute.solvers.minimize.dense_model import DenseModel
from app.compute.solvers.minimize.fallback import Fallback
from app.compute.solvers.minimize.gradient_descent import GradientDescent
from app.compute.solvers.minimize.nelder_mead import NelderMead
from app.compute.solvers.minimize.newton import Newton
from app.compute.solvers.minimize.products_model import by_colours, by_function
from app.compute.solvers.minimize.quasi_newton import Bfgs, ConjugateGradients, Descent, Lbfgs
from app.core.errors import InvalidArgument
from app.sparse.jacobian import Plan

SMOOTH = ("auto", "newton", "bfgs", "l_bfgs", "nonlinear_cg")
"""Methods that end at a verified stationary point, which constraints need."""
METHODS = (*SMOOTH, "nelder_mead", *OPTIMISERS)
HESSIANS = ("auto", "dense", "sparse", "hvp")
NEWTON_UNKNOWNS = 100
"""Up to here the Hessian is built, at n gradients' worth of work; beyond, its products do."""


class Method(Protocol):
    """An iteration over states that have a ``point``."""

    def start(self, x: Any, extra: Any) -> Any: ...

    def step(self, state: Any, extra: Any) -> Any: ...


@dataclass(frozen=True)
class Problem:
    """What is to be minimised: ``value(x, extra)`` of x (size,) in a box, and when to stop.

    ``constrained``: the value is a Lagrangian. ``plan`` is that of a sparse Hessian.
    """

    value: Callable[[Any, Any], Any]
    size: int
    box: Box
    tolerance: float
    max_steps: int
    constrained: bool = False
    plan: Plan | None = None


def method_of(problem: Problem, options: Mapping[str, Any]) -> Method:
    """The method that a call's ``method``, ``hessian`` and ``options`` name."""
    name = read.one_of(options, "method", METHODS, "auto")
    _check(name, options, problem.constrained)
    value, box, tolerance = problem.value, problem.box, problem.tolerance
    if name in OPTIMISERS:
        update = optimiser(name, options.get("options") or {}, problem.max_steps)
        return GradientDescent(value, box, update, tolerance)
    few = problem.size <= NEWTON_UNKNOWNS
    if name == "auto" and options.get("hessian") not in (None, "auto"):
        name = "newton"
    newton = Newton(value, box, tolerance, _curvature(problem, options, few))
    bfgs = Descent(value, box, Bfgs(), tolerance)
    l_bfgs = Descent(value, box, Lbfgs(), tolerance)
    if name == "auto":
        # Constraints are smooth: what a quasi-Newton method does at kinks is of no use there.
        return newton if problem.constrained else Fallback(newton, bfgs if few else l_bfgs)
    return {
        "newton": newton,
        "bfgs": bfgs,
        "l_bfgs": l_bfgs,
        "nonlinear_cg": Descent(value, box, ConjugateGradients(), tolerance),
        "nelder_mead": NelderMead(value, box, tolerance),
    }[name]


def _curvature(problem: Problem, options: Mapping[str, Any], few: bool) -> Any:
    """How Newton's method takes second derivatives."""
    name = read.one_of(options, "hessian", HESSIANS, "auto")
    if problem.plan is not None:
        return by_colours(problem.plan)
    if name == "sparse":
        raise InvalidArgument(
            "a sparse Hessian is not taken here",
            pointer="/hessian",
            hint="use hvp: products alone, without the matrix",
        )
    return DenseModel.of if name == "dense" or (name == "auto" and few) else by_function


def _check(name: str, options: Mapping[str, Any], constrained: bool) -> None:
    """Refuse together what a method cannot honour."""
    if constrained and name not in SMOOTH:
        raise InvalidArgument(
            f"{name} takes no constraints", pointer="/method", hint=f"one of {', '.join(SMOOTH)}"
        )
    if options.get("options") and name not in OPTIMISERS:
        raise InvalidArgument(
            f"{name} takes no options",
            pointer="/options",
            hint=f"they are those of gradient methods: {', '.join(OPTIMISERS)}",
        )
    if options.get("hessian") not in (None, "auto") and name not in ("auto", "newton"):
        raise InvalidArgument(
            f"{name} takes no second derivatives", pointer="/hessian", hint="use method newton"
        )
