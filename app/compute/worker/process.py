"""A worker process, from the fork to its end: walls up, device warm, then one frame at a time."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.compute.pool.arena import Arena
from app.compute.sandbox import libc
from app.compute.sandbox.wall import Wall
from app.compute.worker.channel import Channel
from app.compute.worker.operations import Answer, Operations
from app.core.errors import LimitExceeded, ProblemError

VISIBLE = {"cuda": "CUDA_VISIBLE_DEVICES", "tpu": "TPU_VISIBLE_CHIPS"}


@dataclass(frozen=True, slots=True)
class Birth:
    """What the zygote hands to a new worker. ``device`` is ``None`` for a spare."""

    stream: socket.socket
    arena: int
    device: int | None
    parent: int
    networkless: bool


def live(birth: Birth, engine: Any, settings: Mapping[str, Any]) -> None:
    """Serve until the pool closes the socket."""
    libc.die_with_parent()
    if os.getppid() != birth.parent:
        return
    platform = settings["platform"]
    wall = Wall(settings["sandbox"], platform, settings["memory_bytes"])
    wall.enter(networkless=birth.networkless)
    arena = Arena(birth.arena, settings["shared_bytes"], upper=True)
    os.close(birth.arena)
    channel = Channel(birth.stream, arena)
    # A spare for accelerators learns only later which one is its own.
    warm = platform == "cpu" or birth.device is not None
    if warm:
        _warm(platform, birth.device or 0)
        wall.close()
    channel.send(0, ["ready", wall.held])
    operations = Operations(engine, settings)
    for number, message, arrays in channel.frames():
        if message[0] == "release":
            channel.release(message[1])
        elif message[0] == "adopt":
            if not warm:
                _warm(platform, message[1])
                wall.close()
                warm = True
            channel.send(number, ["ok", wall.held])
        else:
            channel.send(number, *_answer(operations, message, arrays))
        del message, arrays


def _answer(operations: Operations, message: list[Any], arrays: list[np.ndarray]) -> Answer:
    """The operation's answer, or what it raised as one."""
    try:
        return operations.answer(message, arrays)
    except ProblemError as error:
        return ["problem", error.to_wire()], []
    except MemoryError:
        error = LimitExceeded(
            "the worker has no memory left for this", hint="work on parts, or send fewer points"
        )
        return ["problem", error.to_wire()], []
    except Exception:  # noqa: BLE001  the border of the process: the pool logs it, no client sees it
        return ["fault", traceback.format_exc(limit=-8)[-4000:]], []


def _warm(platform: str, device: int) -> None:
    """Make the backend see its device alone, and start it."""
    if platform in VISIBLE:
        name = VISIBLE[platform]
        known = os.environ.get(name, "")
        os.environ[name] = known.split(",")[device] if known else str(device)
        if platform == "tpu":
            os.environ["TPU_CHIPS_PER_PROCESS_BOUNDS"] = "1,1,1"
            os.environ["TPU_PROCESS_BOUNDS"] = "1,1,1"
    import jax  # imported by the zygote long since; this module stays light for it

    jax.devices()
