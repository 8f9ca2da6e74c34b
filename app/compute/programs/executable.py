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
import msgpack
import numpy as np
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
from jax.core import ShapedArray
from jaxlib.lapack import _lapack

from app.compute.programs.dispatch import ALIASED_BYTES, Dispatch
from app.compute.programs.identity import identity
from app.compute.programs.lower import Lowered
from app.core.errors import InvalidArgument
from app.core.values import DTYPES

FORMAT = 2


class IncompatibleExecutableError(Exception):
    """The blob was compiled for another CPU, device or version: compile the program again."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One input or output of an executable: its number among the leaves, and what it is."""

    leaf: int
    shape: tuple[int, ...]
    dtype: np.dtype
    aval: Any

    @classmethod
    def of(cls, leaf: int, shape: Sequence[int], name: str) -> Slot:
        """From plain numbers and the dtype's name."""
        dtype = DTYPES[name]
        return cls(leaf, tuple(shape), dtype, ShapedArray(tuple(shape), dtype))

    def to_wire(self) -> list[Any]:
        """What ``of`` takes."""
        return [self.leaf, list(self.shape), self.dtype.name]


class Executable:
    """Runs on this process's first device. Cheap to call: about 15 microseconds on CPU."""

    __slots__ = ("_dispatch", "inputs", "loaded", "outputs")

    def __init__(self, loaded: Any, inputs: Sequence[Slot], outputs: Sequence[Slot]) -> None:
        self.loaded = loaded
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        taken, made = ([slot.aval for slot in part] for part in (inputs, outputs))
        self._dispatch = Dispatch(loaded, taken, made)

    def __call__(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """Run on numpy or resident arrays; results are numpy views of the device's on CPU.

        Large numpy inputs aligned to 64 bytes are aliased, not copied: leave them alone until
        it returns. Raise ``InvalidArgument`` for a wrong shape or a value that does not fit.
        """
        arguments = []
        for slot in self.inputs:
            leaf = leaves[slot.leaf]
            if leaf.shape != slot.shape or leaf.dtype != slot.dtype:
                leaf = _fitted(leaf, slot)
            if leaf.nbytes >= ALIASED_BYTES and isinstance(leaf, np.ndarray):
                leaf = self._dispatch.put(leaf, slot.aval)
            arguments.append(leaf)
        return [np.asarray(result) for result in self._dispatch(arguments)]


def _fitted(leaf: Any, slot: Slot) -> Any:
    """``leaf`` cast to the program's type: 32-bit programs take 64-bit inputs that fit."""
    if leaf.shape != slot.shape:
        raise InvalidArgument(
            f"an input has shape {list(leaf.shape)}; the program takes {list(slot.shape)}",
            pointer=f"/args/{slot.leaf}",
        )
    if not np.can_cast(leaf.dtype, slot.dtype, "same_kind"):
        raise InvalidArgument(
            f"an input is {leaf.dtype}; the program takes {slot.dtype}",
            pointer=f"/args/{slot.leaf}",
        )
    host = np.asarray(leaf)
    with np.errstate(over="ignore"):
        cast = host.astype(slot.dtype)
    if host.dtype.kind in "fc" and np.any(np.isinf(cast) & np.isfinite(host)):
        raise InvalidArgument(
            f"a number is past the range of {slot.dtype}",
            pointer=f"/args/{slot.leaf}",
            hint='use "dtype": "float64"',
        )
    if host.dtype.kind in "iu" and not np.array_equal(cast, host):
        raise InvalidArgument(
            f"an integer does not fit {slot.dtype}",
            pointer=f"/args/{slot.leaf}",
            hint='use "dtype": "float64", which keeps 64-bit integers',
        )
    return cast


def from_compiled(compiled: Any, lowered: Lowered) -> Executable:
    """The executable XLA has just compiled."""
    taken = zip(lowered.meta["kept"], lowered.in_avals, strict=True)
    inputs = [Slot.of(leaf, aval.shape, aval.dtype.name) for leaf, aval in taken]
    made = enumerate(lowered.out_avals)
    outputs = [Slot.of(buffer, aval.shape, aval.dtype.name) for buffer, aval in made]
    return Executable(compiled._executable.xla_executable, inputs, outputs)


def serialise(executable: Executable) -> bytes:
    """The stored form of an executable."""
    xla = executable.loaded.client.serialize_executable(executable.loaded)
    slots = [[slot.to_wire() for slot in part] for part in (executable.inputs, executable.outputs)]
    blob: Any = msgpack.packb([FORMAT, identity(), *slots, xla])
    return blob


def load(blob: bytes) -> Executable:
    """Load what ``serialise`` wrote; raise ``IncompatibleExecutableError`` for another identity."""
    version, made_for, *rest = msgpack.unpackb(blob)
    if version != FORMAT or made_for != identity():
        raise IncompatibleExecutableError("compiled for another machine or version")
    inputs, outputs, xla = rest
    # A program that calls LAPACK crashes in a process that has not yet looked its symbols up.
    _lapack.initialize()
    devices = jax.local_devices()[:1]
    loaded = devices[0].client.deserialize_executable(
        xla, executable_devices=xla_client.DeviceList(tuple(devices))
    )
    return Executable(loaded, [Slot.of(*each) for each in inputs],
                      [Slot.of(*each) for each in outputs])  # fmt: skip


def put(array: np.ndarray) -> jax.Array:
    """A copy of ``array`` on this process's first device, with its dtype kept."""
    with jax.enable_x64(True):
        return jnp.array(array, copy=True)
