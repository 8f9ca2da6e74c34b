"""JAX without any server: time jitted calls in this process, when told to on standard input.

A line ``SIZE CALLS`` is answered with the median seconds of a call of the jitted sum of squares
over SIZE float64 already on the device, its scalar brought back as a Python float.
"""

import statistics
import sys
import time

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def main() -> None:
    """Answer lines until the end of the input."""
    function = jax.jit(lambda x: jnp.sum(x * x))
    arrays: dict[int, jax.Array] = {}
    for line in sys.stdin:
        size, calls = (int(word) for word in line.split())
        x = arrays.setdefault(size, jnp.linspace(0.0, 1.0, size))
        float(function(x))
        seconds = []
        for _ in range(calls):
            start = time.perf_counter()
            float(function(x))
            seconds.append(time.perf_counter() - start)
        print(statistics.median(seconds), flush=True)


if __name__ == "__main__":
    main()
