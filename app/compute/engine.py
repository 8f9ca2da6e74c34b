"""The engine of one worker: everything that touches JAX, behind a few plain methods.

Takes specs and numpy arrays, gives back plain data; keeps no programs (its caller does) and
talks to neither store nor network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from app.compute.explain import diagnose, ir, lines, pushed
from app.compute.language import parse
from app.compute.limits import EngineLimits
from app.compute.programs import bounds, executable
from app.compute.programs.executable import Executable
from app.compute.programs.lower import Lowered, compile_stage, lower
from app.compute.programs.precision import precision
from app.compute.programs.refusals import refusing
from app.compute.programs.trace import trace
from app.compute.spec import ProgramSpec
from app.core.errors import LimitExceeded
from app.core.values import unflatten
from app.sparse.kernels import library


class Engine:
    """Checks, traces, compiles, loads and runs programs on this process's first device."""

    def __init__(self, limits: EngineLimits) -> None:
        self._limits = limits
        # What runs is of whatever types it was compiled for; each trace sets its own mode.
        jax.config.update("jax_enable_x64", True)
        # Stored programs name the sparse kernels: they must be known before one is loaded.
        if limits.native_kernels:
            library.register()
        # Small programs run in the calling thread: handing over to another costs more than they.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        # Frames of our own code in locations would slow lowering and tell clients file paths.
        jax.config.update("jax_traceback_in_locations_limit", 0)

    def check(self, source: str, entry: str | None) -> dict[str, Any]:
        """Parse a function; raise ``RefusedSource`` with line and column."""
        function = parse(source, entry)
        parameters = [
            {"name": each.name, "default": True} if each.has_default else {"name": each.name}
            for each in function.parameters
        ]
        return {"kind": function.kind, "name": function.name, "parameters": parameters}

    def abstract_eval(self, spec: ProgramSpec) -> dict[str, Any]:
        """Shapes and dtypes of the results and of each source line; nothing is compiled."""
        traced = trace(spec, self._limits)
        shapes = [{"dtype": aval.dtype, "shape": list(aval.shape)} for aval in traced.avals]
        lines: dict[int, dict[str, Any]] = {}
        for equation, scope in bounds.equations(traced.closed.jaxpr):
            line, aval = bounds.line_of(scope), equation.outvars[-1].aval
            if line is not None and hasattr(aval, "shape"):
                shape = list(aval.shape)
                lines[line] = {"line": line, "dtype": aval.dtype.name, "shape": shape}
        found = [lines[line] for line in sorted(lines)]
        return {"out": unflatten(traced.out, shapes), "lines": found}

    def lower(self, spec: ProgramSpec) -> Lowered:
        """Trace within bounds and lower to StableHLO."""
        with library.allowed(self._limits.native_kernels):
            return lower(spec, trace(spec, self._limits))

    def compile(self, lowered: Lowered) -> bytes | None:
        """Compile; the blob for ``load``, or None when the program cannot be stored."""
        return self.blob(lowered, self.build(lowered))

    def build(self, lowered: Lowered) -> Executable:
        """Compile and keep the executable in this process: for programs that cannot be stored."""
        return executable.from_compiled(compile_stage(lowered, self._limits), lowered)

    def blob(self, lowered: Lowered, built: Executable) -> bytes | None:
        """The stored form of an executable built here, or None when it has none."""
        return executable.serialise(built) if lowered.meta["serialisable"] else None

    def load(self, blob: bytes) -> Executable:
        """Load a blob whose signature was verified; ``IncompatibleExecutableError`` if foreign."""
        return executable.load(blob)

    def run(self, program: Executable, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Run on flat leaves, numpy or resident; flat numpy results."""
        try:
            return program(leaves)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" in str(error):
                raise LimitExceeded("the run needs more memory than the device has") from None
            raise

    def put(self, array: np.ndarray) -> jax.Array:
        """A device-resident copy of ``array``."""
        return executable.put(array)

    def ir(self, spec: ProgramSpec, stage: str) -> dict[str, Any]:
        """The program's text at a stage (jaxpr, stablehlo, hlo) with its line map."""
        ir.require_stage(stage)
        with precision(spec.dtype), refusing():
            traced = pushed.marked(spec, trace(spec, self._limits))
        reversals = lines.reversals(scope for _, scope in bounds.equations(traced.closed.jaxpr))
        if stage == "jaxpr":
            return ir.jaxpr(traced.closed, reversals)
        if stage == "stablehlo":
            with precision(spec.dtype), refusing():
                return ir.stablehlo(traced.stage.lower().as_text(debug_info=True), reversals)
        return ir.hlo(compile_stage(lower(spec, traced), self._limits).as_text(), reversals)

    def diagnose(self, spec: ProgramSpec, leaves: Sequence[np.ndarray]) -> list[dict[str, Any]]:
        """The first operations whose results are not finite although their inputs are."""
        with precision(spec.dtype), refusing():
            traced = pushed.marked(spec, trace(spec, self._limits))
            return diagnose.diagnose(traced.closed, leaves, self._limits.diagnosed_equations)
