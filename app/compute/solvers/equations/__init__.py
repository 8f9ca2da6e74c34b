"""Systems of equations, solved to zero, to a fixed point, or in the least-squares sense."""
