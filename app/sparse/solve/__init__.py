"""Sparse linear systems: direct and iterative, differentiable, the residual always told."""
