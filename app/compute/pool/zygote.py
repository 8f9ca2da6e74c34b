"""The pool's hold on its zygote process: starts it, asks it to fork, hears what ended."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack

import app
from app.compute.pool.settings import PoolSettings

MESSAGE = 1 << 16
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TZ", "TMPDIR", "VIRTUAL_ENV")
KEPT_PREFIXES = ("LC_", "CUDA_", "NVIDIA_", "TPU_", "XLA_", "PYTHON")
"""The environment that workers see: nothing in it is a secret of the server."""


class ZygoteLost(Exception):
    """The zygote ended; its workers ended with it."""


class Zygote:
    """One zygote process. Build a new one when it is lost.

    The kernel ends it with the thread that started it: start a pool in a thread that stays.
    """

    def __init__(self, settings: PoolSettings, on_exit: Callable[[int, int], None]) -> None:
        self._settings = settings
        self._on_exit = on_exit
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._forks: dict[int, asyncio.Future[tuple[int, int]]] = {}
        self._ready: asyncio.Future[dict[str, Any]] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.lost = asyncio.Event()
        self.report: dict[str, Any] = {}

    @property
    def pid(self) -> int | None:
        """The process id, while there is a process."""
        return self._process.pid if self._process else None

    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process is not None and self._process.poll() is None

    async def start(self) -> None:
        """Start the process and wait until it has imported everything; ``ZygoteLost`` if not."""
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            descriptor = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "app.compute.worker.zygote", str(descriptor)],
                pass_fds=[descriptor],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        ours.setblocking(False)
        self._control = ours
        self._send(self._settings.worker_wire())
        self._loop.add_reader(ours.fileno(), self._receive)
        async with asyncio.timeout(self._settings.start_s):
            self.report = await self._ready

    async def fork(
        self, serial: int, stream: socket.socket, arena: int, device: int | None
    ) -> tuple[int, int]:
        """A new worker's process id and pidfd (-1 where the kernel has none).

        The caller closes its own copies of what it gave.
        """
        if self._loop is None or self.lost.is_set():
            raise ZygoteLost("the zygote is not running")
        self._forks[serial] = future = self._loop.create_future()
        self._send({"serial": serial, "device": device}, [stream.fileno(), arena])
        try:
            async with asyncio.timeout(self._settings.start_s):
                return await future
        except TimeoutError:
            self._close()
            raise ZygoteLost("the zygote does not answer") from None

    async def stop(self) -> None:
        """End the process and every worker."""
        self._close()
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)
        }
        root = str(Path(app.__file__).resolve().parents[1])
        return {
            **kept,
            "PYTHONPATH": root,
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            # Every further arena of malloc reserves 64 MiB of the address space that is limited.
            "MALLOC_ARENA_MAX": "2",
            "JAX_PLATFORMS": self._settings.platform,
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        if self._control is None:
            raise ZygoteLost("the zygote is not running")
        packed: bytes = msgpack.packb(message)  # pyright: ignore[reportAssignmentType]
        try:
            socket.send_fds(self._control, [packed], descriptors or [])
        except OSError as error:
            raise ZygoteLost(str(error)) from error

    def _receive(self) -> None:
        while self._control is not None:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE, 1)
            except BlockingIOError:
                return
            except OSError:
                data, descriptors = b"", []
            if not data:
                self._close()
                return
            self._understand(msgpack.unpackb(data), descriptors)

    def _understand(self, message: dict[str, Any], descriptors: list[int]) -> None:
        if "forked" in message:
            future = self._forks.pop(message["forked"], None)
            pidfd = descriptors[0] if descriptors else -1
            if future is not None and not future.done():
                future.set_result((message["pid"], pidfd))
            elif pidfd >= 0:
                os.close(pidfd)
        elif "exited" in message:
            self._on_exit(message["exited"], message["code"])
        elif self._ready is not None and not self._ready.done():
            self._ready.set_result(message["ready"])

    def _close(self) -> None:
        if self._control is not None and self._loop is not None:
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
            self._control = None
        waiting = [*self._forks.values(), *([self._ready] if self._ready else [])]
        self._forks.clear()
        for future in waiting:
            if not future.done():
                future.set_exception(ZygoteLost("the zygote ended"))
        self.lost.set()
