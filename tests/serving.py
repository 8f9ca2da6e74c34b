"""Real processes that tests talk to: a gradserve server and a redis-server, on loopback.

Each gets a free port, a directory of its own and an environment without the caller's settings;
each is ended by its process id. A process that does not come up fails with its log.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
START_S = 60.0
STOP_S = 15.0


class StartError(RuntimeError):
    """The process ended, or did not answer in time; the message holds its log."""


def free_port() -> int:
    """A loopback port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment less everything that configures gradserve or JAX, plus ``extra``."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GRADSERVE_", "JAX_", "XLA_"))
    }
    return kept | dict(extra)


class ServerProcess:
    """One ``gradserve serve`` as a user would start it.

    ``directory`` holds its data and its log; two servers may share one data directory by naming
    it in ``environment``.
    """

    def __init__(
        self,
        directory: Path,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self.directory = directory
        self.log = directory / "server.log"
        self.environment = {"GRADSERVE_DATA_DIR": str(directory / "data")} | dict(environment or {})
        self.arguments = list(arguments)
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the server's first process."""
        assert self.process is not None, "the server was not started"
        return self.process.pid

    def start(self, *, wait: bool = True) -> ServerProcess:
        """Start on a free port and wait till it is ready; another process may take the port."""
        for attempt in range(3):
            self._spawn()
            if not wait:
                return self
            try:
                self.wait_ready()
                return self
            except StartError as error:
                self.stop()
                if attempt == 2 or "in use" not in str(error).lower():
                    raise
        raise AssertionError("unreachable")

    def _spawn(self) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "app.cli", "serve", "--host", "127.0.0.1"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.arguments],
                cwd=ROOT,
                env=clean_environment(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_ready(self, timeout: float = START_S) -> None:
        """Return once ``/health/ready`` answers 200."""
        assert self.process is not None
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise StartError(f"the server ended with {self.process.returncode}\n{self.tail()}")
            if self._answers("/health/ready"):
                return
            time.sleep(0.05)
        raise StartError(f"the server was not ready within {timeout:g} s\n{self.tail()}")

    def _answers(self, path: str) -> bool:
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as response:
                return response.status == 200
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return False

    def tail(self, characters: int = 6000) -> str:
        """The end of what the server wrote."""
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""

    def stop(self, sent: signal.Signals = signal.SIGTERM) -> int | None:
        """Ask it to end, insist after a while; its exit status."""
        if self.process is None:
            return None
        stop_process(self.process, sent)
        return self.process.returncode


class RedisProcess:
    """One redis-server without persistence; ``stop`` and ``start`` again keep the port."""

    def __init__(self, directory: Path, arguments: Sequence[str] = ()) -> None:
        self.directory = directory
        self.arguments = list(arguments)
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What ``GRADSERVE_REDIS_URL`` takes."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> RedisProcess:
        """Start and wait till it answers PING."""
        program = shutil.which("redis-server")
        assert program is not None, "redis-server is not installed"
        fixed = ["--bind", "127.0.0.1", "--dir", str(self.directory), "--save", ""]
        with (self.directory / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, "--port", str(self.port), *fixed, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 10
        while not self.answers():
            if time.monotonic() > end or self.process.poll() is not None:
                text = (self.directory / "redis.log").read_text(errors="replace")
                raise StartError(f"redis-server did not come up\n{text[-3000:]}")
            time.sleep(0.02)
        return self

    def answers(self) -> bool:
        """Whether it answers PING."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def stop(self, sent: signal.Signals = signal.SIGTERM) -> None:
        """End it, at once with SIGKILL where asked."""
        if self.process is not None:
            stop_process(self.process, sent)


def stop_process(process: subprocess.Popen[bytes], sent: signal.Signals = signal.SIGTERM) -> None:
    """Send a signal, wait, and kill what stays."""
    if process.poll() is None:
        process.send_signal(sent)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
