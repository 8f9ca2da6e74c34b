"""CSR kernels: C++ through XLA's FFI on CPU where they were built, pure JAX elsewhere."""
