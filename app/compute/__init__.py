"""Language, transforms, programs, solvers, and the pool of workers that run them."""
