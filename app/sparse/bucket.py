"""Room for entries, in steps, so that a matrix of like size meets the program of the last one.

Padding is invisible: it lies past ``indptr[-1]``, holds 0 and names the column one past the last.
Kernels never reach it; gathers fill there and scatters drop.
"""

from __future__ import annotations

SMALLEST = 16


def bucket(nnz: int) -> int:
    """The smallest capacity holding ``nnz`` entries: 16, 18, … 30, 32, 36, … (eight an octave).

    At most one eighth is wasted, and 10^3 to 10^9 entries meet 160 capacities.
    """
    if nnz <= SMALLEST:
        return SMALLEST
    step = 1 << ((nnz - 1).bit_length() - 4)
    return -(-nnz // step) * step
