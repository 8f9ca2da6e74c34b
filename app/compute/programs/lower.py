"""From a traced program to StableHLO and on to XLA's executable, with its cost and its key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax

from app.compute.limits import EngineLimits
from app.compute.programs import bounds
from app.compute.programs.identity import identity, program_key
from app.compute.programs.precision import precision
from app.compute.programs.refusals import refusing
from app.compute.programs.trace import Traced
from app.compute.spec import ProgramSpec
from app.compute.verbs.table import VERBS
from app.core.errors import LimitExceeded

CALLBACKS = frozenset({"pure_callback", "io_callback", "debug_callback", "debug_print"})
"""Primitives that call back into this process: such programs cannot be stored."""


@dataclass(frozen=True)
class Lowered:
    """A program as StableHLO. ``meta`` is what the cache keeps beside the executable.

    meta: out (structure), out_avals, like (result leaf to input leaf whose pattern it has),
    gradients (result leaves that are some), kept (input buffers taken, in order), cost (flops,
    bytes, peak_memory once compiled), serialisable, platform, identity, equations; and what the
    verb tells of all its programs.
    """

    l2: str
    meta: dict[str, Any]
    stage: Any = field(repr=False)
    dtype: str
    in_avals: tuple[Any, ...] = field(repr=False)
    out_avals: tuple[Any, ...] = field(repr=False)


def lower(spec: ProgramSpec, traced: Traced) -> Lowered:
    """Lower for the platform of this process."""
    with precision(spec.dtype), refusing():
        stage = traced.stage.lower()
        text = stage.as_text()
    kept = tuple(sorted(stage._lowering.compile_args["kept_var_idx"]))
    names = {equation.primitive.name for equation, _ in bounds.equations(traced.closed.jaxpr)}
    here = identity()
    interface = {
        "out": traced.out,
        "out_avals": [aval.to_wire() for aval in traced.avals],
        "like": dict(traced.like),
        "gradients": list(traced.gradients),
        "kept": list(kept),
        **VERBS[spec.verb].meta,
    }
    meta = {
        **interface,
        "cost": {},
        "serialisable": not names & CALLBACKS,
        "platform": here["platform"],
        "identity": here,
        "equations": traced.equations,
    }
    taken = tuple(traced.closed.in_avals[place] for place in kept)
    given = tuple(traced.closed.out_avals)
    return Lowered(program_key(text, interface), meta, stage, spec.dtype, taken, given)


def compile_stage(lowered: Lowered, limits: EngineLimits) -> Any:
    """XLA's compilation; fills in ``meta["cost"]``; raise ``LimitExceeded`` past the memory."""
    with precision(lowered.dtype), refusing():
        compiled = lowered.stage.compile()
    cost = cost_of(compiled)
    if cost["peak_memory"] > limits.program_bytes:
        raise LimitExceeded(
            f"the program needs {cost['peak_memory']:,} bytes; "
            f"at most {limits.program_bytes:,} are allowed",
            hint="work on parts with lax.scan or lax.map, or send fewer points",
        )
    lowered.meta["cost"].update(cost)
    return compiled


def cost_of(compiled: jax.stages.Compiled) -> dict[str, float]:
    """XLA's own estimate: flops, bytes moved, and the memory that a run takes at most."""
    analysis: Any = compiled.cost_analysis() or {}
    memory: Any = compiled.memory_analysis()
    sizes = {
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
    }
    return {
        "flops": float(analysis.get("flops", 0.0)),
        "bytes": float(analysis.get("bytes accessed", 0.0)),
        "peak_memory": sum(sizes.values()),
        **sizes,
    }
