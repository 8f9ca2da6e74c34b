"""Container files, and the scripts that try them without an engine."""
