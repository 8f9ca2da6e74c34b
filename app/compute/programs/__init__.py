"""From a spec to an executable: traced, bounded, lowered, compiled, stored, loaded, run."""
