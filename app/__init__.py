"""gradserve: a web REST compute API that gives any program what JAX gives Python."""

__version__ = "0.1.0"
