"""Runs: computations that are waited for elsewhere. Kept in the store, done by whoever lives."""
