"""What a compiled program depends on beside itself: versions, device, CPU, compiler settings.

An executable made under one identity may crash or misread under another: XLA only logs a
mismatch, so we compare before loading.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import jax
import orjson

from app.compute.host import cpu_features
from app.compute.programs.precision import MATMUL_PRECISION
from app.sparse.kernels import library


def identity() -> dict[str, str]:
    """Everything an executable of this process is bound to, by name."""
    devices = jax.local_devices()
    return {
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "platform": devices[0].platform,
        "device": devices[0].device_kind,
        "devices": str(len(devices)),
        "cpu": cpu_features(),
        "kernels": library.version(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "matmul": MATMUL_PRECISION,
    }


def program_key(stablehlo: str, interface: Mapping[str, Any]) -> str:
    """The second-level key: 64 hex digits over the program's text, interface and this identity.

    The text numbers only the inputs that are used and lists results flat: which inputs those are,
    and the tree that the results make, is the ``interface``.
    """
    about = orjson.dumps([interface, identity()], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(b"\0".join([stablehlo.encode(), about])).hexdigest()
