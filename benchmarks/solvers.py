"""Solvers as runs over HTTP against the same work in this process, where it takes over a second.

Minimising: our own program without a server. Differential equations: diffrax. Fitting: optax. A
run tells its progress and keeps checkpoints on the way; a call that is waited for does neither.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import diffrax
import httpx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.bodies import ROSENBROCK, dense, pack
from benchmarks.client import Connection, check, request
from benchmarks.programs import Compiled, seconds
from benchmarks.rows import Findings, Row, Turns, within
from benchmarks.servers import gradserve

WAITED = {"Prefer": "respond-async, wait=30"}
ROUNDS = 3
STARTS = 5

UNKNOWNS = 1800
MINIMISED = {"method": "l_bfgs", "max_steps": 100_000}

PARTICLES = 4000
CHAIN = """
def chain(t, y):
    q, p = jnp.split(y, 2)
    return jnp.concatenate([p, jnp.roll(q, 1) - 2 * q + jnp.roll(q, -1) - jnp.sin(q)])
"""
SPAN = {"t0": 0.0, "t1": 200.0, "method": "dopri5", "rtol": 1e-8, "atol": 1e-10}

ROWS, COLUMNS, BATCH, EPOCHS = 8192, 64, 128, 200
LOGISTIC = """
def loss(w, x, y):
    z = x @ w
    return jnp.mean(jnp.logaddexp(0, z) - y * z)
"""
TRAINED = {"method": "adam", "epochs": EPOCHS, "batch_size": BATCH, "seed": 1}
RATE = 1e-3


@dataclass(frozen=True)
class Case:
    """One piece of work: the call, who else does it, and what tells that both did the same."""

    verb: str
    against: str
    body: Mapping[str, Any]
    peer: Callable[[], Any]
    agrees: Callable[[Any, Any], bool]


def measure(directory: Path) -> Findings:
    """A row for each verb, one for what progress costs; the first event as a note."""
    jax.config.update("jax_enable_x64", True)
    rows, notes = [], []
    with gradserve(directory) as (port, _):
        connection = Connection(port)
        for case in (_minimize(), _ode(), _fit()):
            turns = _turns(connection, case)
            rows += _rows(case, turns)
        connection.close()
        notes.append(_first_event(port))
    return Findings(rows, notes=notes)


def _turns(connection: Connection, case: Case) -> Turns:
    body = pack(case.body)
    kind = {"Content-Type": "application/msgpack", "Accept": "application/json"}
    run, call = (
        request("POST", f"/v1/{case.verb}", body, kind | headers) for headers in (WAITED, {})
    )
    answer = json.loads(check(connection.call(run)).body)
    if not (answer["success"] and case.agrees(answer["result"], case.peer())):
        raise RuntimeError(f"{case.verb} and its peer do not agree: {answer['outcome']}")
    measures = {
        "run": partial(connection.timed, run),
        "call": partial(connection.timed, call),
        "peer": partial(seconds, case.peer),
    }
    return within(0.0, measures, ROUNDS)


def _rows(case: Case, turns: Turns) -> list[Row]:
    own = turns.median("run")
    return [
        Row(f"{case.verb}, as a run", case.against, turns.ratio("run", "peer"), 1.15, 1.05, own,
            turns.median("peer")),
        Row(f"{case.verb}, as a run with progress and checkpoints", "the same call waited for",
            turns.ratio("run", "call"), 1.02, 1.01, own, turns.median("call")),
    ]  # fmt: skip


def _minimize() -> Case:
    start = np.full(UNKNOWNS, -1.2)
    program = Compiled("minimize", ROSENBROCK, [start], **MINIMISED)
    body = {"function": ROSENBROCK, "args": [dense(start)], **MINIMISED}

    def agrees(ours: Any, theirs: Any) -> bool:
        return np.allclose(ours["solution"], theirs["solution"], atol=1e-6)

    return Case("minimize", "the same program in process", body, lambda: program(start), agrees)


def _ode() -> Case:
    start = np.sin(np.arange(2.0 * PARTICLES))

    def chain(t: Any, y: Any, _: Any) -> jax.Array:
        q, p = jnp.split(y, 2)
        return jnp.concatenate([p, jnp.roll(q, 1) - 2 * q + jnp.roll(q, -1) - jnp.sin(q)])

    @jax.jit
    def integrate(y: Any) -> Any:
        control = diffrax.PIDController(rtol=SPAN["rtol"], atol=SPAN["atol"])
        ends = (SPAN["t0"], SPAN["t1"])
        return diffrax.diffeqsolve(
            diffrax.ODETerm(chain), diffrax.Dopri5(), *ends, None, y,
            stepsize_controller=control, max_steps=None, adjoint=diffrax.ForwardMode(),
        ).ys  # fmt: skip

    def agrees(ours: Any, theirs: Any) -> bool:
        return np.allclose(ours["y"], theirs[-1], atol=1e-4)

    body = {"function": CHAIN, "args": [dense(start)], **SPAN}
    return Case(
        "ode", "diffrax in process", body, lambda: integrate(start).block_until_ready(), agrees
    )


def _fit() -> Case:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, COLUMNS))
    y = (x @ rng.standard_normal(COLUMNS) > 0) * 1.0
    start = np.zeros(COLUMNS)
    optimiser = optax.adam(RATE)

    def loss(w: Any, x: Any, y: Any) -> jax.Array:
        z = x @ w
        return jnp.mean(jnp.logaddexp(0, z) - y * z)

    def step(carry: Any, rows: Any) -> tuple[Any, None]:
        w, state = carry
        gradient = jax.grad(loss)(w, jnp.asarray(x)[rows], jnp.asarray(y)[rows])
        updates, state = optimiser.update(gradient, state)
        return (optax.apply_updates(w, updates), state), None

    def epoch(carry: Any, key: Any) -> tuple[Any, None]:
        order = jax.random.permutation(key, ROWS).reshape(-1, BATCH)
        return jax.lax.scan(step, carry, order)

    @jax.jit
    def train(w: Any) -> Any:
        keys = jax.random.split(jax.random.key(1), EPOCHS)
        return jax.lax.scan(epoch, (w, optimiser.init(w)), keys)[0][0]

    def agrees(ours: Any, theirs: Any) -> bool:
        """Batches are shuffled by other keys, so the ends are near, not the same."""
        return np.allclose(ours["solution"], theirs, atol=0.1)

    options = {"options": {"learning_rate": RATE}}
    body = {"function": LOGISTIC, "args": [dense(start), dense(x), dense(y)]}
    body |= TRAINED | options
    return Case("fit", "optax in process", body, lambda: train(start).block_until_ready(), agrees)


def _first_event(port: int) -> str:
    """How long after a run is asked for its first progress is heard."""
    body = {"function": ROSENBROCK, "args": [[-1.2] * UNKNOWNS], **MINIMISED}
    found = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for _ in range(STARTS):
            start = time.perf_counter()
            posted = client.post("/v1/minimize", json=body, headers={"Prefer": "respond-async"})
            where = posted.headers["location"]
            with client.stream("GET", f"{where}/events") as events:
                for line in events.iter_lines():
                    if line == "event: progress":
                        found.append(time.perf_counter() - start)
                        break
            client.delete(where)
            time.sleep(0.5)
    return (
        f"first progress of a run: {sorted(found)[STARTS // 2] * 1e3:.0f} ms after it is asked for"
    )
