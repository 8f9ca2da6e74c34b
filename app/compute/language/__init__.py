"""The function language: a restricted Python, interpreted over its syntax tree with JAX values.

``parse`` turns source into a ``Function``; its ``bind`` gives a callable that JAX traces. No code
object is made of a source, and nothing of the host is reachable from one but through the registry.
"""

from app.compute.language.entries import Parameter
from app.compute.language.function import Function, parse
from app.compute.language.limits import Limits

__all__ = ["Function", "Limits", "Parameter", "parse"]
