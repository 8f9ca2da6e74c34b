"""Minima of a function: Newton and its models, descent, simplex, bounds and constraints."""
