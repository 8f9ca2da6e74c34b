"""A compiled program in this process: made from XLA's, stored as bytes, loaded, run.

The stored form is msgpack around XLA's own serialisation: nothing is unpickled. Whoever hands a
blob to ``load`` has verified its signature: loading forged machine code runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import msgpack
import numpy as np
from jax._src.lib import xla_client
from jax.sharding import SingleDeviceSharding
from jaxlib.lapack import _lapack

from app.compute.identity import identity
from app.compute.lower import Lowered
from app.core.errors import InvalidArgument

FORMAT = 1


class IncompatibleExecutableError(Exception):
    """The blob was compiled for another CPU, device or version: compile the program again."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input that the executable takes: where it lies among the leaves, and what it is."""

    leaf: int
    shape: tuple[int, ...]
    dtype: np.dtype
    aval: Any


class Executable:
    """Runs on this process's first device. Cheap to call: about 15 microseconds on CPU."""

    __slots__ = ("_devices", "_execute", "_put", "_sharding", "inputs", "loaded")

    def __init__(self, loaded: Any, inputs: Sequence[Input]) -> None:
        device = jax.local_devices()[0]
        self.loaded = loaded
        self.inputs = tuple(inputs)
        self._execute = loaded.execute
        self._put = xla_client.batched_device_put
        self._sharding = SingleDeviceSharding(device)
        self._devices = [device]

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Run on numpy or resident arrays; results are numpy views of the device's on CPU.

        Numpy inputs aligned to 64 bytes are aliased, not copied: leave them alone until it
        returns. Raise ``InvalidArgument`` for a wrong shape or a value that does not fit.
        """
        arguments = []
        for wanted in self.inputs:
            leaf = leaves[wanted.leaf]
            if leaf.shape != wanted.shape or leaf.dtype != wanted.dtype:
                leaf = _fitted(leaf, wanted)
            if isinstance(leaf, np.ndarray):
                leaf = self._put(
                    wanted.aval, self._sharding, [leaf], self._devices, enable_x64=True
                )
            arguments.append(leaf)
        return [np.asarray(result) for result in self._execute(arguments)]


def _fitted(leaf: Any, wanted: Input) -> Any:
    """``leaf`` cast to the program's type: 32-bit programs take 64-bit inputs that fit."""
    if leaf.shape != wanted.shape:
        raise InvalidArgument(
            f"an input has shape {list(leaf.shape)}; the program takes {list(wanted.shape)}",
            pointer=f"/args/{wanted.leaf}",
        )
    if not np.can_cast(leaf.dtype, wanted.dtype, "same_kind"):
        raise InvalidArgument(
            f"an input is {leaf.dtype}; the program takes {wanted.dtype}",
            pointer=f"/args/{wanted.leaf}",
        )
    host = np.asarray(leaf)
    if host.dtype.kind in "iu" and not np.array_equal(host.astype(wanted.dtype), host):
        raise InvalidArgument(
            f"an integer does not fit {wanted.dtype}",
            pointer=f"/args/{wanted.leaf}",
            hint='use "dtype": "float64", which keeps 64-bit integers',
        )
    return host.astype(wanted.dtype)


def from_compiled(compiled: Any, lowered: Lowered) -> Executable:
    """The executable XLA has just compiled."""
    return Executable(compiled._executable.xla_executable, _inputs(lowered))


def serialise(executable: Executable) -> bytes:
    """The stored form of an executable."""
    xla = executable.loaded.client.serialize_executable(executable.loaded)
    inputs = [[each.leaf, list(each.shape), each.dtype.name] for each in executable.inputs]
    return msgpack.packb([FORMAT, identity(), inputs, xla])


def load(blob: bytes) -> Executable:
    """Load what ``serialise`` wrote; raise ``IncompatibleExecutableError`` for another identity."""
    version, made_for, inputs, xla = msgpack.unpackb(blob)
    if version != FORMAT or made_for != identity():
        raise IncompatibleExecutableError("compiled for another machine or version")
    # A program that calls LAPACK crashes in a process that has not yet looked its symbols up.
    _lapack.initialize()
    devices = jax.local_devices()[:1]
    loaded = devices[0].client.deserialize_executable(
        xla, executable_devices=xla_client.DeviceList(tuple(devices))
    )
    return Executable(loaded, [_input(*each) for each in inputs])


def _inputs(lowered: Lowered) -> list[Input]:
    kept = zip(lowered.meta["kept"], lowered.in_avals, strict=True)
    return [_input(leaf, aval.shape, aval.dtype.name) for leaf, aval in kept]


def _input(leaf: int, shape: Sequence[int], name: str) -> Input:
    dtype = np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)
    with jax.enable_x64(True):
        aval = jax.core.ShapedArray(tuple(shape), dtype)
    return Input(leaf, tuple(shape), dtype, aval)


def put(array: np.ndarray) -> jax.Array:
    """A copy of ``array`` on this process's first device, with its dtype kept."""
    with jax.enable_x64(True):
        return jnp.array(array, copy=True)
