"""Turns what JAX raises while tracing or compiling into errors that a client can act on.

The language reports its own errors with a line; what is left are rules that only a transformation
meets: reverse mode through an unbounded loop, a missing derivative, axes that do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from app.compute.language.messages import cleaned
from app.core.errors import InvalidArgument, LimitExceeded, ProblemError, RefusedSource

TRACING = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    NotImplementedError,
    AssertionError,
    jax.errors.JaxRuntimeError,
)
"""What JAX raises for functions and shapes that it cannot trace or compile."""

HINTS = (
    ("Reverse-mode differentiation does not work", "use lax.scan, or a fixed number of steps"),
    ("Forward-mode", "use mode reverse, or grad"),
    ("forward-mode autodiff (jvp) to a custom_vjp", "use mode reverse, or vjp; of ode tsit5"),
    ("vmap", "check in_axes: null shares an argument, an axis number maps over it"),
    ("zero-size", "the array has no entries to reduce over"),
)


@contextmanager
def refusing() -> Iterator[None]:
    """Raise ``RefusedSource``, ``InvalidArgument`` or ``LimitExceeded`` for what JAX refuses."""
    try:
        yield
    except ProblemError:
        raise
    except RecursionError:
        raise LimitExceeded("the function nests too deeply to be traced") from None
    except MemoryError:
        raise LimitExceeded("the program needs more memory than this server gives") from None
    except jax.errors.ConcretizationTypeError:
        raise RefusedSource(
            "a Python decision depends on a traced value",
            hint="use jnp.where, lax.cond or lax.while_loop, or pass the value as static",
        ) from None
    except TRACING as error:
        raise explain(error) from None


def explain(error: Exception) -> ProblemError:
    """The client's view of one JAX error: its first sentence, without paths, and a hint."""
    text = first_paragraph(str(error)) or type(error).__name__
    if "RESOURCE_EXHAUSTED" in text or "Out of memory" in text:
        return LimitExceeded("the program needs more memory than the device has")
    hint = next((hint for mark, hint in HINTS if mark in text), None)
    if "vmap" in text:
        return InvalidArgument(text, pointer="/vmap", hint=hint)
    return RefusedSource(text, hint=hint)


def first_paragraph(text: str) -> str:
    """At most 400 characters of a message, on one line, without paths or reprs of objects."""
    return cleaned(text.strip().split("\n\n")[0])[:400]
