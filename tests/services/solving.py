"""The services of one process with a solver run in them: ``python solving.py DATA_DIR``.

Prints the run's id once it has a checkpoint, and goes on until it is killed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import orjson

from app.compute.spec import ProgramSpec
from app.core.settings import Settings
from app.services.assembly import Services, assemble
from app.services.call import Inputs, RunOptions
from app.services.function import Source
from app.services.runs.packing import Request
from app.services.runs.run import Client, Run

SLOW_ROSENBROCK = """
def slow(x):
    value = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
    return lax.fori_loop(0, 4_000_000, lambda i, a: a * (1 - 1e-9), value)
"""
"""Some tens of milliseconds an iteration."""
START = np.array([-1.2, 1.0, -1.2, 1.0, -1.2, 1.0])
ME = Client("me")


def settings(data: Path) -> Settings:
    return Settings(data_dir=data, run_lease_s=1.5)


async def spec_of(services: Services) -> tuple[ProgramSpec, list]:
    inputs = Inputs({"args": [0]}, [START])
    source, options = Source(SLOW_ROSENBROCK), {"method": "bfgs"}
    return await services.calls.spec(
        "minimize", source, inputs, options, dtype="float64", platform="cpu"
    )


async def begin(services: Services) -> Run:
    spec, leaves = await spec_of(services)
    return await services.runs.submit("minimize", Request(spec, leaves, RunOptions()), ME)


def decoded(body: bytes) -> dict[str, Any]:
    """The result in a run's document."""
    return msgpack.unpackb(body)["result"]


def array(value: Any) -> np.ndarray:
    """The array that a msgpack value holds."""
    if not isinstance(value, dict):
        return np.array(value)
    return np.frombuffer(value["data"], value["dtype"]).reshape(value["shape"])


def read(data: bytes) -> dict[str, Any]:
    """What an event says."""
    return orjson.loads(data)


async def main(data: Path) -> None:
    services = assemble(settings(data))
    await services.start()
    run = await begin(services)
    while await services.store.get("runstate", run.id) is None:
        await asyncio.sleep(0.05)
    print(run.id, flush=True)
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
