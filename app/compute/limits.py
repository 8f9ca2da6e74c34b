"""How large a program may be: plain numbers, handed down from the settings. Imports no JAX."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20
GIB = 2**30


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """Bounds checked on a traced program before anything is compiled or allocated.

    ``equations`` counts the whole program, sub-programs included, each once. ``program_bytes``
    holds against XLA's own memory analysis, after compiling. Without ``native_kernels`` sparse
    products run in pure JAX even where the C++ kernels were built.
    """

    equations: int = 20_000
    operands: int = 512
    array_bytes: int = 1 * GIB
    output_bytes: int = 256 * MIB
    output_leaves: int = 4096
    output_depth: int = 64
    program_bytes: int = 2 * GIB
    diagnosed_equations: int = 20_000
    native_kernels: bool = True
