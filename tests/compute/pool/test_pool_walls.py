"""The process wall: hostile Python, with no language in its way, meets each measure alone.

Each measure is tried in a bare process that took only that one, then all in a worker with JAX.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from app.compute.pool.local import LocalPool
from app.compute.pool.settings import MEASURES
from app.compute.sandbox.landlock import version
from app.compute.sandbox.level import level
from app.core.errors import LimitExceeded, ProblemError
from tests.compute.pool.conftest import PYTHONIC, StartPool, python_image

ROOT = Path(__file__).parents[3]

SETUP = """
import ctypes, os, resource, socket, sys, threading
from app.compute.sandbox import network
from app.compute.sandbox.wall import Wall
measures = sys.argv[1].split()
wall = Wall(measures, "cpu", 1 << 30)
wall.enter(networkless="network" in measures and network.close_network())
wall.close()
assert all(wall.held.values()), wall.held
try:
    exec(sys.argv[2])
except BaseException as error:
    print(type(error).__name__, getattr(error, "errno", None))
else:
    print("done")
"""

READ_SECRET = "open('/etc/passwd').read()"
WRITE = "open('/tmp/gradserve-wall', 'w').write('x')"
CONNECT = "socket.create_connection(('127.0.0.1', int(sys.argv[3])), timeout=5)"
FORK = "os.fork()"
EXEC = "os.execv('/bin/true', ['true'])"
KILL = "os.kill(os.getppid(), 0)"
ALLOCATE = "len(bytearray(50 << 30))"
TRACE = "libc = ctypes.CDLL(None, use_errno=True)\n" + (
    "if libc.ptrace(0, 0, 0, 0) < 0: raise OSError(ctypes.get_errno(), 'ptrace')"
)
SOCKET = "socket.socket()"


def attempt(measures: str, attack: str, *arguments: str) -> str:
    """What came of an attack in a process that took these measures: ``done``, or its error."""
    command = [sys.executable, "-c", SETUP, measures, attack, *arguments]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    return ended.stdout.strip() or f"ended with {ended.returncode}: {ended.stderr[-200:]}"


@pytest.mark.parametrize(
    ("measure", "attack", "outcome"),
    [
        ("seccomp", SOCKET, "PermissionError 1"),
        ("seccomp", FORK, "PermissionError 1"),
        ("seccomp", EXEC, "PermissionError 1"),
        ("seccomp", KILL, "PermissionError 1"),
        ("seccomp", TRACE, "PermissionError 1"),
        ("seccomp", WRITE, "PermissionError 1"),
        ("seccomp", "os.unlink('/tmp/gradserve-wall')", "PermissionError 1"),
        ("seccomp", "os.memfd_create('x')", "PermissionError 1"),
        ("seccomp", "resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))", "ValueError None"),
        ("landlock", READ_SECRET, "PermissionError 13"),
        ("landlock", "os.listdir('/')", "PermissionError 13"),
        ("landlock", WRITE, "PermissionError 13"),
        ("landlock", EXEC, "PermissionError 13"),
        ("memory", ALLOCATE, "MemoryError None"),
        ("files", "[open('/dev/null') for _ in range(300)]", "OSError 24"),
        ("core", "assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)", "done"),
        (
            "privileges",
            "assert ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 1\n"
            "assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0",
            "done",
        ),
        (
            "capabilities",
            "assert 'CapEff:\\t0000000000000000' in open('/proc/self/status').read()",
            "done",
        ),
    ],
)
def test_each_measure_alone(measure: str, attack: str, outcome: str) -> None:
    if measure == "landlock" and version() == 0:
        pytest.skip("this kernel has no Landlock")
    assert attempt(measure, attack) == outcome


@pytest.mark.parametrize("attack", [READ_SECRET, SOCKET, "os.waitpid(os.fork() or os._exit(0), 0)"])
def test_without_measures_the_attacks_work(attack: str) -> None:
    assert attempt("core", attack) == "done"


def test_files_cannot_grow(tmp_path: Path) -> None:
    target = tmp_path / "grows"
    attack = f"f = open({str(target)!r}, 'w'); f.write('x'); f.flush()"
    assert attempt("files", attack) == "OSError 27"


@pytest.mark.parametrize("measure", ["network", "landlock", "seccomp"])
def test_no_connection_even_to_this_machine(measure: str) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        assert attempt("core", CONNECT, port) == "done"
        assert attempt(measure, CONNECT, port) != "done"


def test_landlock_alone_keeps_signals_in() -> None:
    if version() < 6:
        pytest.skip("this kernel's Landlock does not know signals")
    assert attempt("landlock", KILL) == "PermissionError 1"


def test_threads_still_start_under_seccomp() -> None:
    attack = "t = threading.Thread(target=print, args=('alive',)); t.start(); t.join()"
    assert attempt("seccomp", attack) == "alive\ndone"


def hostile(statement: str) -> str:
    return f"import ctypes, os, socket\nimport numpy as np\ndef run(leaves):\n    {statement}\n"


@pytest.fixture(scope="module")
def walled(start_pool: StartPool) -> LocalPool:
    return start_pool(engine=PYTHONIC, spare=False, memory_bytes=1 << 30)


def test_full_level_is_reached_and_told(walled: LocalPool) -> None:
    sandbox = walled.status()["sandbox"]
    assert sandbox.pop("level") == "full"
    assert sandbox == dict.fromkeys(MEASURES, True)


@pytest.mark.parametrize(
    "statement",
    [
        "open('/etc/passwd').read()",
        "open('/proc/1/environ').read()",
        "os.listdir(os.path.expanduser('~'))",
        "open('/tmp/gradserve-wall', 'w')",
        "socket.socket()",
        "socket.create_connection(('127.0.0.1', 80))",
        "socket.socketpair()",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.system('true') and 1 / 0",
        "os.kill(1, 0)",
        "os.kill(os.getppid(), 9)",
        "os.setuid(1)",
        "os.chmod('/tmp', 0o777)",
        "os.symlink('/etc', '/tmp/gradserve-wall')",
        "ctypes.CDLL(None).ptrace(0, 0, 0, 0) == -1 and 1 / 0",
        "ctypes.CDLL(None).unshare(0x10000000) == -1 and 1 / 0",
    ],
)
def test_hostile_python_in_a_worker_is_refused(
    runner: asyncio.Runner, walled: LocalPool, statement: str
) -> None:
    source = hostile(f"{statement}\n    return [np.ones(1)]")
    pid = walled.status()["workers"][0]["pid"]
    with pytest.raises(ProblemError) as caught:
        runner.run(walled.run(python_image(source), [], deadline_s=10.0))
    assert caught.value.status == 500
    assert walled.status()["workers"][0]["pid"] == pid


def test_memory_bomb_in_a_worker_is_a_limit(runner: asyncio.Runner, walled: LocalPool) -> None:
    bomb = python_image(hostile("return [np.ones(50 << 27)]"))
    with pytest.raises(LimitExceeded):
        runner.run(walled.run(bomb, [], deadline_s=10.0))
    after = python_image(hostile("return [np.ones(1)]"))
    assert runner.run(walled.run(after, [], deadline_s=10.0)).leaves[0].tolist() == [1.0]


def test_worker_that_floods_its_socket_is_ended(runner: asyncio.Runner, walled: LocalPool) -> None:
    flood = python_image(
        hostile("[os.write(fd, b'x' * 4096) for fd in (3, 4, 5, 6)]\n    return [np.ones(1)]")
    )
    with pytest.raises(ProblemError) as caught:
        runner.run(walled.run(flood, [], deadline_s=10.0))
    assert caught.value.status in (500, 503)
    after = python_image(hostile("return [np.ones(1)]"))
    assert runner.run(walled.run(after, [], deadline_s=10.0)).leaves[0].tolist() == [1.0]


def test_levels() -> None:
    assert level(dict.fromkeys(MEASURES, True)) == "full"
    assert level({"seccomp": True, "landlock": False, "privileges": True}) == "partial"
    assert level({"memory": True}) == "rlimits"
    assert level({"memory": False}) == "none"
