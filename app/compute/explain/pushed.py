"""Tells a function's own operations from those that push its tangents forward.

Forward mode traces both in the scope of the derivative, and loops in none. What depends on no
tangent is the function itself: each operation that its scope tells wrong gets a scope which tells,
and which survives to every stage.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.extend import core as jex

from app.compute.explain import lines
from app.compute.programs import bounds
from app.compute.programs.leaves import abstract
from app.compute.programs.trace import Traced
from app.compute.spec import ProgramSpec
from app.core.values import places

FORWARD = frozenset({"jvp", "hvp", "jacobian", "hessian"})
"""Verbs that push tangents through the whole function."""


def marked(spec: ProgramSpec, traced: Traced) -> Traced:
    """The same program with scopes by which ``lines.role`` knows what is pushed.

    Where nothing is pushed, or no tangent can be followed to the results, ``traced`` itself.
    """
    if spec.verb not in FORWARD:
        return traced
    reversals = lines.reversals(scope for _, scope in bounds.equations(traced.closed.jaxpr))
    given = _tangents(spec)
    pushed = [place in given for place in range(len(traced.closed.jaxpr.invars))]
    jaxpr, out = _Marking(reversals, basis=True).program(traced.closed.jaxpr, pushed, "")
    if not any(out):
        return traced
    function = jex.jaxpr_as_fun(jex.ClosedJaxpr(jaxpr, traced.closed.consts))

    def flat(*buffers: Any) -> list[Any]:
        return function(*buffers)

    return replace(traced, stage=jax.jit(flat).trace(*traced.closed.in_avals))


def _tangents(spec: ProgramSpec) -> set[int]:
    """The places of the program's inputs that hold tangents; a matrix takes several."""
    groups = [
        spec.inputs[name] for name in ("tangents", "vectors") if spec.inputs.get(name) is not None
    ]
    leaves = {leaf for group in groups for _, leaf in places(group)}
    found: set[int] = set()
    start = 0
    for leaf, aval in enumerate(spec.avals):
        stop = start + len(jax.tree.leaves(abstract(aval)))
        found.update(range(start, stop) if leaf in leaves else ())
        start = stop
    return found


@dataclass(frozen=True)
class _Marking:
    """One walk through a program, its sub-programs included.

    With ``basis`` what no source line and no input makes is a tangent: the directions of a
    Jacobian.
    """

    reversals: int
    basis: bool = False

    def program(self, jaxpr: Any, pushed: Sequence[bool], scope: str) -> tuple[Any, list[bool]]:
        """The program, marked, and which results depend on a tangent. ``pushed``: of its inputs."""
        tangents = {var for var, one in zip(jaxpr.invars, pushed, strict=True) if one}
        known = set(jaxpr.invars)
        equations = []
        for equation in jaxpr.eqns:
            here = f"{scope}/{equation.source_info.name_stack}"
            inputs = [var for var in equation.invars if not isinstance(var, jex.Literal)]
            if any(var in known for var in inputs):
                known.update(equation.outvars)
            elif self.basis and not lines.named(here):
                tangents.update(equation.outvars)
            flags = [var in tangents for var in _variables(equation.invars)]
            new, out = self._equation(equation, flags, here)
            tangents.update(var for var, one in zip(equation.outvars, out, strict=True) if one)
            equations.append(new)
        return jaxpr.replace(eqns=equations), [var in tangents for var in _variables(jaxpr.outvars)]

    def _equation(self, equation: Any, flags: list[bool], here: str) -> tuple[Any, list[bool]]:
        if not any(flags):
            return self._as(lines.OWN, equation, here), [False] * len(equation.outvars)
        equation = self._as(lines.PUSHED, equation, here)
        inner = replace(self, basis=False)
        match equation.primitive.name:
            case "scan":
                fixed, carried = equation.params["num_consts"], equation.params["num_carry"]
                return inner._loop(equation, "jaxpr", flags, fixed, carried, here)
            case "while":
                tests, fixed = equation.params["cond_nconsts"], equation.params["body_nconsts"]
                carried = len(flags) - tests - fixed
                return inner._loop(equation, "body_jaxpr", flags[tests:], fixed, carried, here)
            case "jit" | "pjit" | "closed_call" | "remat2" | "checkpoint":
                name = "jaxpr" if "jaxpr" in equation.params else "call_jaxpr"
                sub, out = inner._sub(equation.params[name], flags, here)
                return equation.replace(params={**equation.params, name: sub}), out
        return equation, [True] * len(equation.outvars)

    def _loop(
        self, equation: Any, name: str, flags: list[bool], fixed: int, carried: int, here: str
    ) -> tuple[Any, list[bool]]:
        """A loop: what one turn makes of a carried value, the next one takes."""
        flags = list(flags)
        while True:
            sub, out = self._sub(equation.params[name], flags, here)
            carry = [a or b for a, b in zip(flags[fixed : fixed + carried], out, strict=False)]
            if carry == flags[fixed : fixed + carried]:
                return equation.replace(params={**equation.params, name: sub}), out
            flags[fixed : fixed + carried] = carry

    def _sub(self, program: Any, flags: Sequence[bool], here: str) -> tuple[Any, list[bool]]:
        if isinstance(program, jex.ClosedJaxpr):
            jaxpr, out = self.program(program.jaxpr, flags, here)
            return program.replace(jaxpr=jaxpr), out
        return self.program(program, flags, here)

    def _as(self, mark: str, equation: Any, here: str) -> Any:
        """The equation, marked where its scope, whole or within its loop, tells otherwise."""
        info = equation.source_info
        wanted = lines.PRIMAL if mark == lines.OWN else lines.TANGENT
        told = {lines.role(scope, self.reversals) for scope in (here, str(info.name_stack))}
        if not lines.named(str(info.name_stack)) or lines.COTANGENT in told or told == {wanted}:
            return equation
        return equation.replace(source_info=info.replace(name_stack=info.name_stack.extend(mark)))


def _variables(variables: Collection[Any]) -> list[Any]:
    """Variables by place; a literal, which none depends on, as ``None``."""
    return [None if isinstance(var, jex.Literal) else var for var in variables]
