"""Load the C++ kernels into this process and register them with XLA.

To be called before any stored executable that names them is loaded. Never compiles.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
from collections.abc import Iterator

import jax

from app.core import logging
from app.sparse.kernels import build

TARGETS = ("csr_mm", "csr_tmm", "csr_sddmm")

_allowed: contextvars.ContextVar[bool] = contextvars.ContextVar("native_kernels", default=True)


@functools.cache
def register() -> bool:
    """Load and register the library, once a process; whether it is there."""
    path = build.find()
    if path is None:
        return False
    try:
        library = ctypes.cdll.LoadLibrary(str(path))
        for name in TARGETS:
            handler = getattr(library, f"gradserve_{name}")
            jax.ffi.register_ffi_target(target(name), jax.ffi.pycapsule(handler), platform="cpu")
    except (OSError, AttributeError) as error:
        logging.get("sparse").warning("kernels not loaded, pure JAX serves", reason=str(error))
        return False
    return True


def target(name: str) -> str:
    """The name in a compiled program; it holds the library's digest, so versions never mix."""
    return f"gradserve_{name}_{build.digest()}"


def native() -> bool:
    """Whether programs traced here and now use the C++ kernels on CPU."""
    return _allowed.get() and register()


def version() -> str:
    """For the key of a compiled program: the library's digest, or ``portable``."""
    return build.digest() if native() else "portable"


@contextlib.contextmanager
def allowed(native: bool) -> Iterator[None]:
    """Programs traced inside use the C++ kernels only where ``native`` says so."""
    token = _allowed.set(native and _allowed.get())
    try:
        yield
    finally:
        _allowed.reset(token)


def portable() -> contextlib.AbstractContextManager[None]:
    """Programs traced inside use pure JAX even where the library is there."""
    return allowed(native=False)
