"""Solver verbs as runs over HTTP: in chunks, with progress, to the known solution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.following import Follower
from tests.serving import ServerProcess

LINE = [[1.0], [2.0], [3.0], [4.0]]
BOWL = "lambda x, a: sum((x - a)**4 + (x - a)**2)"

CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("minimize", {"function": BOWL, "args": [[3.0, 3.0], 1.0], "method": "bfgs"}, [1.0, 1.0]),
    (
        "minimize",
        {
            "function": BOWL,
            "args": [[3.0], [1.0, 2.0]],
            "method": "bfgs",
            "vmap": {"in_axes": [None, 0]},
        },
        [[1.0], [2.0]],
    ),
    ("fixed_point", {"function": "cos(x)", "args": [1.0]}, 0.7390851332151607),
]


@pytest.mark.parametrize(("verb", "body", "solution"), CASES)
def test_a_solver_as_a_run(
    server: ServerProcess, verb: str, body: dict[str, Any], solution: Any
) -> None:
    with Follower(server.url) as here:
        run = here.wait(here.begin(verb, body), longest_s=100)
        assert run["status"] == "done", run
        assert np.asarray(run["result"]["solution"]) == pytest.approx(
            np.asarray(solution), abs=1e-6
        )
        assert np.all(run["success"])
        told = [event.data for event in here.events(run["run"]) if event.kind == "progress"]
        assert told[0] == {"phase": "compiling"}
        assert "iteration" in told[-1]
        point = np.asarray(told[-1]["x"], dtype=float)
        assert point.shape == (*np.shape(solution)[:-1], np.atleast_1d(solution).shape[-1])
        assert point == pytest.approx(np.atleast_1d(solution), abs=1e-6)


def test_an_integration_tells_how_much_is_done(server: ServerProcess) -> None:
    body = {"function": "lambda t, y: -y", "args": [1.0], "t1": 1.0, "rtol": 1e-9, "atol": 1e-12}
    with Follower(server.url) as here:
        run = here.wait(here.begin("ode", body), longest_s=100)
        assert run["status"] == "done", run
        assert run["progress"]["fraction"] == pytest.approx(1.0)
        assert np.asarray(run["result"]["y"]).ravel()[-1] == pytest.approx(math.exp(-1), abs=1e-7)


def test_a_run_that_takes_too_long_is_told_its_own_limit(server: ServerProcess) -> None:
    body = {"function": "lambda t, y: jnp.cos(1e6 * t) * y", "args": [1.0], "t1": 1e6}
    body |= {"method": "tsit5", "max_steps": 2_000_000_000, "timeout_s": 0.7}
    with Follower(server.url) as here:
        run = here.wait(here.begin("ode", body), longest_s=100)
        assert run["status"] == "failed"
        assert run["problem"]["status"] == 504
        assert run["problem"]["detail"] == "run: passed its limit of 0.7 s and was ended"


def test_the_gradient_of_a_loss_behind_an_integration_is_one_piece(server: ServerProcess) -> None:
    source = "def loss(y):\n    return y**2\n\ndef f(t, y, k):\n    return -k * y\n"
    body = {"function": source, "args": [1.0, 1.0], "t1": 1.0, "loss": "loss", "method": "tsit5"}
    with Follower(server.url) as here:
        run = here.wait(here.begin("ode", body), longest_s=100)
        assert run["status"] == "done", run
        answer = here.call("ode", body)
        assert run["result"] == answer["result"]


def test_a_regression(server: ServerProcess) -> None:
    y = [3.0, 5.0, 7.0, 9.5]
    with Follower(server.url) as here:
        run = here.wait(here.begin("fit", {"model": "linear", "args": [LINE, y]}), longest_s=100)
        assert run["status"] == "done", run
        slope, intercept = np.polyfit(np.ravel(LINE), y, 1)
        assert run["result"]["coef"] == pytest.approx([intercept, slope], rel=1e-9)
