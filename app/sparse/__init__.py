"""Sparse matrices: ingest, formats, kernels, the sparsify layer, colouring, solves."""
