"""``gradserve call`` and ``gradserve watch``, run as a user runs them against a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest

from tests.following import Follower, loop
from tests.serving import ROOT, ServerProcess, clean_environment, free_port

SQUARES = {"function": "lambda x: sum(x**2)", "args": [[1.0, 2.0, 3.0]]}


def gradserve(*arguments: str, server: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments, "--server", server],
        cwd=ROOT,
        env=clean_environment({"COLUMNS": "120"}),
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def body(tmp_path: Path) -> Path:
    return written(tmp_path, SQUARES)


def written(directory: Path, document: dict[str, Any]) -> Path:
    file = directory / "call.json"
    file.write_text(json.dumps(document))
    return file


def test_call_prints_the_answer(server: ServerProcess, body: Path) -> None:
    for arguments in (["grad", str(body)], ["grad", str(body), "--watch"]):
        ran = gradserve("call", *arguments, server=server.url)
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["result"] == [2.0, 4.0, 6.0]


def test_call_reads_msgpack_and_standard_input(server: ServerProcess, tmp_path: Path) -> None:
    data = np.arange(3.0).tobytes()
    array = {"dtype": "float64", "shape": [3], "data": data}
    file = tmp_path / "call.msgpack"
    file.write_bytes(msgpack.packb({"function": "lambda x: x + 1", "args": [array]}))
    ran = gradserve("call", "evaluate", str(file), server=server.url)
    assert json.loads(ran.stdout)["result"] == [1.0, 2.0, 3.0]
    ran = gradserve("call", "grad", "-", server=server.url, given=json.dumps(SQUARES))
    assert json.loads(ran.stdout)["result"] == [2.0, 4.0, 6.0]


def test_detach_then_watch(server: ServerProcess, tmp_path: Path) -> None:
    file = written(tmp_path, loop(3_000_000, 0.0))
    begun = gradserve("call", "evaluate", str(file), "--detach", server=server.url)
    run_id = begun.stdout.strip()
    watched = gradserve("watch", run_id, server=server.url)
    assert watched.returncode == 0, watched.stderr
    said = json.loads(watched.stdout)
    assert said["run"] == run_id
    assert said["result"] == 0.0
    assert "done" in watched.stderr


def test_problems_are_told_with_place_and_hint(server: ServerProcess, tmp_path: Path) -> None:
    bad = written(tmp_path, {"function": "def f(x):\n    import os\n    return x", "args": [1]})
    for extra in ([], ["--watch"]):
        ran = gradserve("call", "grad", str(bad), *extra, server=server.url)
        assert ran.returncode == 1
        assert ran.stdout == ""
        assert "line 2" in ran.stderr
    ran = gradserve("watch", "run_" + "0" * 32, server=server.url)
    assert ran.returncode == 1
    assert "queued" not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["call", "grad", "no such file"], "No such file"),
        (["call", "grad", "{body}", "--key", "gehéim"], "printable ASCII"),
        (["call", "grad", "{body}", "--key", "geh\nim"], "printable ASCII"),
        (["call", "grad", "{body}", "--watch", "--detach"], "opposites"),
        (["watch", ""], "no id of a run"),
    ],
)
def test_a_wrong_command_is_told_from_a_problem(
    server: ServerProcess, body: Path, arguments: list[str], said: str
) -> None:
    ran = gradserve(*(each.format(body=body) for each in arguments), server=server.url)
    assert ran.returncode == 2, ran.stderr
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert "geh" not in ran.stderr


def test_a_cancelled_run_and_a_server_that_is_not_there(server: ServerProcess) -> None:
    with Follower(server.url) as here:
        run_id = here.begin("evaluate", loop(1_000_000_000))
        here.cancel(run_id)
    ran = gradserve("watch", run_id, server=server.url)
    assert ran.returncode == 3
    assert "cancelled" in ran.stderr
    ran = gradserve("watch", run_id, server=f"http://127.0.0.1:{free_port()}")
    assert ran.returncode == 1
    assert "does not answer" in ran.stderr
    assert httpx.get(f"{server.url}/health/live").status_code == 200
