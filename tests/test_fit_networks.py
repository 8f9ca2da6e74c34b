"""``fit`` of losses by source: networks as runs, early stopping, schedules, sparse data."""

from __future__ import annotations

from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from tests.following import Follower
from tests.serving import ServerProcess
from tests.sparse.matrices import wire

CONVOLUTIONAL = """
def apply(p, x):
    h = x[:, None]
    for w, b in ((p["w1"], p["b1"]), (p["w2"], p["b2"])):
        h = lax.conv_general_dilated(h, w, (1, 1), "SAME") + b[None, :, None, None]
        h = jax.nn.relu(h)
        n, c, size, _ = h.shape
        h = h.reshape(n, c, size // 2, 2, size // 2, 2).max(axis=(3, 5))
    return h.reshape(h.shape[0], -1) @ p["w3"] + p["b3"]

def loss(p, x, labels):
    logits = jax.nn.log_softmax(apply(p, x))
    return -jnp.sum(jax.nn.one_hot(labels, 10) * logits, axis=1)
"""
RECURRENT = """
def loss(p, x, y):
    def step(h, at):
        return jnp.tanh(at @ p["input"] + h @ p["inner"] + p["bias"]), None
    h, _ = lax.scan(step, jnp.zeros((x.shape[0], 24)), jnp.swapaxes(x, 0, 1))
    return (h @ p["out"] - y) ** 2
"""


def packed(tree: Any) -> Any:
    """Arrays as msgpack has them, in their tree."""
    if isinstance(tree, dict):
        return {name: packed(leaf) for name, leaf in tree.items()}
    return {"dtype": tree.dtype.name, "shape": list(tree.shape), "data": tree.tobytes()}


def train(server: ServerProcess, args: list[Any], **fields: Any) -> tuple[dict, list[dict]]:
    """The run of a training at its end, and the progress that it told."""
    body = msgpack.packb({"args": [packed(each) for each in args], "dtype": "float32", **fields})
    headers = {"content-type": "application/msgpack", "prefer": "respond-async"}
    with Follower(server.url) as here:
        answer = here.http.post("/v1/fit", content=body, headers=headers)
        assert answer.status_code == 202, answer.text
        run = here.wait(msgpack.unpackb(answer.content)["run"], longest_s=120)
        assert run["status"] == "done", run.get("problem")
        events = here.events(run["run"])
        return run, [each.data for each in events if each.kind == "progress"]


def normal(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Gaussian weights of He's size."""
    fan = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
    return (random.standard_normal(shape) * np.sqrt(2 / fan)).astype(np.float32)


def test_a_convolutional_network_reads_digits(server: ServerProcess) -> None:
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8) / 16).astype(np.float32)
    random = np.random.default_rng(0)
    order = random.permutation(len(images))
    training, test = order[:1437], order[1437:]
    start = {
        "w1": normal(random, 12, 1, 3, 3),
        "b1": np.zeros(12, np.float32),
        "w2": normal(random, 24, 12, 3, 3),
        "b2": np.zeros(24, np.float32),
        "w3": normal(random, 96, 10),
        "b3": np.zeros(10, np.float32),
    }
    data = [images[training], labels[training].astype(np.int32)]
    options = {"learning_rate": 4e-3, "schedule": "cosine"}
    run, told = train(
        server, [start, *data], function=CONVOLUTIONAL, method="adam", options=options,
        epochs=18, batch_size=64, validation_split=0.1, seed=1,
    )  # fmt: skip
    assert {"epoch", "value", "validation", "rate", "left_s", "fraction"} <= set(told[-2])
    history = run["result"]["history"]
    assert len(history["loss"]) == len(history["validation"]) == 18
    assert history["loss"][-1] < 0.1 * history["loss"][0]
    with httpx.Client(base_url=server.url, timeout=60) as http:
        body = {
            "function": {"source": CONVOLUTIONAL, "entry": "apply"},
            "args": [run["result"]["solution"], images[test].tolist()],
            "dtype": "float32",
        }
        logits = http.post("/v1/evaluate", json=body).raise_for_status().json()["result"]
    assert np.mean(np.argmax(logits, 1) == labels[test]) >= 0.97


def test_a_recurrent_network_remembers_and_adds(server: ServerProcess) -> None:
    """The sum of the two entries that are marked in a sequence of ten."""
    random = np.random.default_rng(0)
    x = np.zeros((1500, 10, 2), np.float32)
    x[..., 0] = random.random((1500, 10))
    marks = np.argsort(random.random((1500, 10)), 1)[:, :2]
    np.put_along_axis(x[..., 1], marks, 1.0, 1)
    y = np.sum(x[..., 0] * x[..., 1], 1)
    start = {
        "input": 0.5 * normal(random, 2, 24),
        "inner": np.linalg.qr(random.standard_normal((24, 24)))[0].astype(np.float32),
        "bias": np.zeros(24, np.float32),
        "out": 0.1 * normal(random, 24, 1)[:, 0],
    }
    run, told = train(
        server, [start, x, y], function=RECURRENT, method="nadam", epochs=60, batch_size=50,
        options={"learning_rate": 5e-3, "schedule": "one_cycle", "clip": 1.0},
        validation_split=0.2, seed=3,
    )  # fmt: skip
    assert run["result"]["best"] < 0.01  # always saying 1 has 1/6
    assert told[-1]["fraction"] == pytest.approx(1.0)


LINE = "lambda p, x, y: (p[0] + p[1] * x - y) ** 2"
X = np.linspace(-1, 1, 40)


def fit(client: httpx.Client, function: str, args: list[Any], **fields: Any) -> dict[str, Any]:
    reply = client.post("/v1/fit", json={"function": function, "args": args, **fields})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_it_stops_early_and_the_seed_decides(client: httpx.Client) -> None:
    noise = np.random.default_rng(1).standard_normal(40)
    args = [[0.0, 0.0], X.tolist(), (1 + 2 * X + 0.1 * noise).tolist()]
    fields = {"epochs": 400, "batch_size": 8, "patience": 5, "validation_split": 0.25}
    fields |= {"method": "sgd", "options": {"learning_rate": 0.05, "momentum": 0.5}}
    first, again, other = (fit(client, LINE, args, **fields, seed=seed) for seed in (4, 4, 5))
    assert first["outcome"] == "finished: the validation loss stopped falling"
    epochs = first["statistics"]["epochs"]
    assert 5 < epochs < 400
    validation = first["result"]["history"]["validation"]
    assert len(validation) == 400
    assert min(validation) == first["result"]["best"] == validation[epochs - 6]
    assert "nonfinite" not in first
    assert first["result"] == again["result"] != other["result"]
    assert first["program"] == other["program"]
    assert np.allclose(first["result"]["solution"], [1, 2], atol=0.1)


def test_a_loss_above_its_start_is_no_success(client: httpx.Client) -> None:
    args = [[0.0, 0.0], X.tolist(), (1 + 2 * X).tolist()]
    fast = {"options": {"learning_rate": 1e6}, "epochs": 5}
    for fields in (fast, {**fast, "validation_split": 0.25}):
        found = fit(client, LINE, args, **fields)
        assert not found["success"]
        assert found["outcome"].startswith("failed: the loss ended above its start")
    still = fit(client, LINE, [[1.0, 2.0], *args[1:]], options={"learning_rate": 1e-3}, epochs=5)
    assert still["success"], still["outcome"]


def test_patience_without_validation_watches_the_training_loss(client: httpx.Client) -> None:
    args = [[0.0, 0.0], X.tolist(), np.sin(9 * X).tolist()]
    fields = {"method": "sgd", "options": {"learning_rate": 0.5}, "batch_size": 40}
    found = fit(client, LINE, args, **fields, epochs=2000, patience=3)
    assert found["outcome"] == "finished: the training loss stopped falling"
    assert found["statistics"]["epochs"] < 2000
    assert found["success"]


def test_a_loss_of_sparse_rows(client: httpx.Client) -> None:
    x = sp.random(60, 5, 0.5, random_state=0, format="csr")
    true = np.arange(5.0)
    source = "lambda b, X, y: (X @ b - y) ** 2"
    args = [[0.0] * 5, wire(x, "csr"), (x @ true).tolist()]
    fields = {"method": "adam", "options": {"learning_rate": 0.1, "schedule": "linear"}}
    found = fit(client, source, args, **fields, epochs=800)
    assert np.allclose(found["result"]["solution"], true, atol=1e-3)
    reply = client.post(
        "/v1/fit", json={"function": source, "args": args, **fields, "batch_size": 10}
    )
    assert reply.status_code == 422
    assert reply.json()["pointer"] == "/batch_size"


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"options": {"learning_rate": "fast"}}, "/options/learning_rate"),
        ({"options": {"learning_rate": 0}}, "/options/learning_rate"),
        ({"options": {"schedule": ["cosine"]}}, "/options/schedule"),
        ({"options": {"schedule": "piecewise", "boundaries": [[1]]}}, "/options/boundaries"),
        ({"options": {"clip": "tight"}}, "/options/clip"),
        ({"options": {"b1": True}}, "/options/b1"),
        ({"options": {"mask": 1}}, "/options/mask"),
        ({"method": "sm3", "options": {"schedule": "cosine"}}, "/options/schedule"),
        ({"l2": 1.0}, "/l2"),
        ({"model": "linear", "patience": 2}, "/patience"),
        ({"seed": 1.5}, "/seed"),
        ({"seed": -1}, "/seed"),
        ({"epochs": 2**31 - 1}, None),
    ],
)
def test_bad_fields_are_pointed_at(client: httpx.Client, fields: dict, at: str | None) -> None:
    body = {"function": LINE, "args": [[0.0, 0.0], X.tolist(), X.tolist()], **fields}
    reply = client.post("/v1/fit", json=body)
    assert reply.status_code == 422, reply.text
    assert at is None or reply.json()["pointer"] == at


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"options": {"learning_rate": 1e10}}, "a positive number below 2147483648"),
        ({"options": {"final": -1}}, "a number from 0, below 2147483648"),
        ({"options": {"learning_rate": {"schedule": "cosine"}}}, '"schedule": "cosine"'),
    ],
)
def test_limits_and_forms_are_named(client: httpx.Client, fields: dict, said: str) -> None:
    body = {"function": LINE, "args": [[0.0, 0.0], X.tolist(), X.tolist()], **fields}
    problem = client.post("/v1/fit", json=body).json()
    assert said in problem["detail"] + problem.get("hint", "")
