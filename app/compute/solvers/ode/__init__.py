"""Differential equations: steps, their size, events, noise, and gradients of what comes out."""
