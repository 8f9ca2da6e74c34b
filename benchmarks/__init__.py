"""Measured claims: `python -m benchmarks.run` measures, prints and records them."""
