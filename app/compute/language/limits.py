"""What a source may cost: every bound that the language itself holds, as one frozen value.

Bounds on whole programs (equations, outputs, memory analysis) are the engine's, not these.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on text, on evaluation while tracing, and on what is handed to array functions."""

    source_bytes: int = 65_536
    syntax_nodes: int = 20_000
    syntax_depth: int = 200
    bracket_depth: int = 64

    steps: int = 200_000
    array_operations: int = 20_000
    call_depth: int = 100
    transform_depth: int = 24
    """Callbacks of the language inside one another: each costs stack of the host's."""
    derivative_order: int = 8
    """Derivatives of derivatives: what JAX traces grows exponentially with the order."""
    structure_depth: int = 64
    deadline_s: float = 10.0

    integer_bits: int = 64
    text: int = 4_096
    sequence: int = 10_000
    loop_over_array: int = 1_000
    result_leaves: int = 4_096

    array_bytes: int = 1 << 30
    rank: int = 32
    operands: int = 512
    builder_size: int = 2_048
    """Static sizes given to functions that loop or build on the host while tracing."""
    unroll: int = 16
