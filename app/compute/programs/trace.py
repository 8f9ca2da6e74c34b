"""Traces a program: flat arrays in, flat arrays out, within the bounds of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

from app.compute.limits import EngineLimits
from app.compute.programs import bounds
from app.compute.programs.leaves import Results, abstract
from app.compute.programs.precision import precision
from app.compute.programs.program import Program
from app.compute.programs.refusals import refusing
from app.compute.spec import ProgramSpec
from app.compute.verbs.verb import Verb
from app.core.values import Aval, Structure, flatten, places
from app.sparse.kernels import library


@dataclass(frozen=True)
class Traced:
    """A program traced and within its bounds. ``out`` numbers the leaves of the result.

    ``avals`` has one for each leaf; ``like`` gives, for a sparse leaf that has the pattern of an
    input, that input: such a leaf is one buffer, any other sparse one three. ``gradients`` are
    the leaves that lie in the space of an argument.
    """

    stage: Any
    out: Structure
    avals: tuple[Aval, ...]
    like: Mapping[str, int]
    gradients: tuple[int, ...]
    equations: int

    @property
    def closed(self) -> Any:
        """The whole program as a jaxpr over flat leaves."""
        return self.stage.jaxpr


def trace(spec: ProgramSpec, limits: EngineLimits) -> Traced:
    """Trace ``spec`` for its platform's numeric mode; raise what a client can act on."""
    kernels = library.allowed(limits.native_kernels)
    with precision(spec.dtype), refusing(), kernels:
        program = Program.of(spec)
        inputs, treedef = jax.tree.flatten([abstract(aval) for aval in spec.avals])
        captured: list[tuple[Structure, Results]] = []

        def flat(*buffers: Any) -> list[Any]:
            leaves = jax.tree.unflatten(treedef, buffers)
            out: list[Any] = []
            structure = flatten(program(leaves), out)
            found = Results.of(out, leaves)
            captured.append((structure, found))
            return found.buffers

        stage = jax.jit(flat).trace(*inputs)
        count = bounds.check(stage.jaxpr, limits)
        bounds.check_results(list(stage.jaxpr.out_avals), limits)
    structure, found = captured[-1]
    gradients = _gradients(structure, program.verb) if found.like else ()
    return Traced(stage, structure, found.avals, found.like, gradients, count)


def _gradients(structure: Any, verb: Verb) -> tuple[int, ...]:
    """The leaves of a result that are gradients."""
    if verb.gradients is None:
        return ()
    part = structure[verb.gradients] if verb.gradients else structure
    return tuple(leaf for _, leaf in places(part))
