"""The bottom layer: settings, errors, values and their codec, limits, ids, clock, logging."""
