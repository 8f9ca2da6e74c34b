"""Models fitted to data: by name, or the client's own loss by an optimiser."""
