"""gradserve: a web REST compute API that gives any program in any language what JAX gives Python."""

__version__ = "0.1.0"
