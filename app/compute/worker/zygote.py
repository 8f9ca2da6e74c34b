"""The zygote: imports JAX and the engine once, starts no backend and no thread, and forks workers.

    python -m app.compute.worker.zygote DESCRIPTOR

The descriptor is a SOCK_SEQPACKET socket to the pool. First comes the configuration, then one
message a fork with the worker's socket and arena attached. Answers: ready, forked (with a
pidfd attached), exited. It ends when the pool's end closes or the pool's process ends.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

import msgpack

from app.compute.sandbox import libc, network
from app.compute.spec import ProgramSpec
from app.compute.worker.process import Birth, live
from app.core import logging
from app.core.values import Aval

MESSAGE = 1 << 20


class Zygote:
    """One process that waits for orders to fork."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._settings: Mapping[str, Any] = msgpack.unpackb(control.recv(MESSAGE))
        logging.configure("info")
        self._networkless = "network" in self._settings["sandbox"] and network.close_network()
        self._engine = _build(self._settings["engine"], self._settings["engine_limits"])
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        """Fork and reap until the pool closes its end."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        gc.collect()
        gc.freeze()
        # Forking is safe only while there is one thread, and no backend, which would start some.
        threads = len(os.listdir("/proc/self/task"))
        if threads > 1:
            raise RuntimeError(f"the zygote has {threads} threads; it must have one to fork")
        self._send({"ready": {"network": self._networkless}})
        while True:
            readable, _, _ = select.select([self._control, self._woken], [], [])
            if self._woken in readable:
                os.read(self._woken, 4096)
                self._reap()
            if self._control in readable and not self._obey():
                return

    def _obey(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE, 2)
        if not message:
            return False
        order = msgpack.unpackb(message)
        stream, arena = descriptors
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(stream, arena, order["device"], parent)
        os.close(stream)
        os.close(arena)
        told = {"forked": order["serial"], "pid": pid}
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            self._send(told)  # some sandboxes know no pidfd: the pool then signals the number
            return True
        self._send(told, [pidfd])
        os.close(pidfd)
        return True

    def _become_worker(self, stream: int, arena: int, device: int | None, parent: int) -> None:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            os.close(self._woken)
            os.close(self._wake)
            birth = Birth(socket.socket(fileno=stream), arena, device, parent, self._networkless)
            live(birth, self._engine, self._settings)
            status = 0
        except (BrokenPipeError, ConnectionResetError):
            status = 0
        except BaseException:  # noqa: BLE001  a child must never return into the zygote's loop
            traceback.print_exc()
        finally:
            os._exit(status)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._send({"exited": pid, "code": os.waitstatus_to_exitcode(status)})

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        packed: bytes = msgpack.packb(message)  # pyright: ignore[reportAssignmentType]
        socket.send_fds(self._control, [packed], descriptors or [])


def _build(path: str, limits: Mapping[str, Any]) -> Any:
    """The engine named ``module:Class``, given its limits and used once, so that forks need not.

    What is imported lazily by a first trace, load or compilation is imported here.
    """
    import jax  # noqa: F401
    import jaxlib.mlir.dialects.builtin
    import jaxlib.mlir.dialects.mhlo  # noqa: F401
    from jaxlib.lapack import _lapack

    from app.compute.limits import EngineLimits
    from app.sparse import colouring

    module, _, name = path.partition(":")
    engine = getattr(importlib.import_module(module), name)(EngineLimits(**limits))
    _lapack.initialize()
    colouring.only_read()
    avals = (Aval("float64", (2,)),)
    engine.abstract_eval(ProgramSpec("lambda x: x", None, "evaluate", {"args": [0]}, avals))
    return engine


def main() -> None:
    """Become the zygote of the process that started this one."""
    libc.die_with_parent()
    # Ctrl-C and a service manager's SIGTERM reach the whole group: the pool drains, then closes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    begun = time.perf_counter()
    try:
        Zygote(control).serve()
    except (BrokenPipeError, ConnectionResetError):
        return
    except Exception:
        seconds = time.perf_counter() - begun
        print(f"the zygote failed after {seconds:.1f} s", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
