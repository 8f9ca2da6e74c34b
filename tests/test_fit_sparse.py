"""``fit`` of named models on a sparse X: NumPy's and SciPy's answers, outcomes, a large one."""

from __future__ import annotations

from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from scipy.special import expit

from tests.following import Follower
from tests.serving import ServerProcess
from tests.sparse.matrices import wire

ROWS, COLUMNS = 200, 12
RANDOM = np.random.default_rng(7)
X = sp.random(ROWS, COLUMNS, 0.3, random_state=7, format="csr")
X = sp.csr_matrix(X.multiply(10.0 ** np.linspace(-3, 3, COLUMNS)))
TRUE = RANDOM.standard_normal(COLUMNS) / np.asarray(np.sqrt(X.power(2).mean(0))).ravel()
Z = X @ TRUE - 0.5
LABELS = (RANDOM.random(ROWS) < expit(Z)).astype(float)
COUNTS = RANDOM.poisson(np.exp(0.3 * Z)).astype(float)
NOISY = Z + 0.1 * RANDOM.standard_normal(ROWS)


def fit(client: httpx.Client, x: Any, y: Any, **fields: Any) -> dict[str, Any]:
    """The answer, with X in compressed columns."""
    sent = wire(x, "csc")
    sent["values"] = [value if np.isfinite(value) else "NaN" for value in sent["values"]]
    reply = client.post("/v1/fit", json={"args": [sent, list(y)], **fields})
    assert reply.status_code == 200, reply.text
    return reply.json()


def design() -> np.ndarray:
    return np.column_stack([np.ones(ROWS), X.toarray()])


@pytest.mark.parametrize(
    ("model", "l2"), [("linear", 0.0), ("logistic", 0.0), ("logistic", 0.5), ("poisson", 0.0)]
)
def test_coefficients(client: httpx.Client, model: str, l2: float) -> None:
    y = {"linear": NOISY, "logistic": LABELS, "poisson": COUNTS}[model]
    said = fit(client, X, y, model=model, l2=l2)
    assert said["success"], said["outcome"]
    found = np.array(said["result"]["coef"])
    mean = {"linear": lambda z: z, "logistic": expit, "poisson": np.exp}[model]
    penalty = np.diag([0.0, *[l2] * COLUMNS])
    dense = design()

    def slope(b: np.ndarray) -> np.ndarray:
        return dense.T @ (mean(dense @ b) - y) + penalty @ b

    def curvature(b: np.ndarray) -> np.ndarray:
        p = mean(dense @ b)
        weight = {"linear": np.ones(ROWS), "logistic": p * (1 - p), "poisson": p}[model]
        return dense.T @ (weight[:, None] * dense) + penalty

    wanted = scipy.optimize.root(slope, found, jac=curvature, tol=1e-14).x
    scale = np.abs(wanted) + np.abs(1 / np.linalg.norm(dense, axis=0))
    assert np.max(np.abs(found - wanted) / scale) < 1e-6


def test_outcomes(client: httpx.Client) -> None:
    twice = sp.hstack([X, X[:, [3]]])
    broken = X.copy()
    broken.data[broken.indptr[5]] = np.nan
    for x, y, model, words in (
        (twice, NOISY, "linear", "linearly dependent"),
        (twice, LABELS, "logistic", "linearly dependent"),
        (X, (X @ TRUE > 0).astype(float), "logistic", "separated"),
        (X, np.ones(ROWS), "logistic", "one class"),
        (X, LABELS * 2, "logistic", "does not allow"),
        (X, -COUNTS - 1, "poisson", "does not allow"),
        (broken, NOISY, "linear", "not a number"),
    ):
        said = fit(client, x, y, model=model)
        assert not said["success"], (model, words)
        assert words in said["outcome"]
    assert said["statistics"]["bad_row"] == 5
    assert fit(client, twice, NOISY, model="ridge")["success"]
    huge = fit(client, X, COUNTS + 1e300, model="poisson")
    assert not huge["success"]
    complex_ = {"dtype": "complex128", "shape": [2], "data": [1, 0, 2, 0]}
    reply = client.post("/v1/fit", json={"model": "linear", "args": [wire(X[:2]), complex_]})
    assert reply.status_code == 422


def test_logistic_regression_of_a_million_entries_as_a_run(server: ServerProcess) -> None:
    rows, columns, each = 100_000, 10_000, 10
    random = np.random.default_rng(0)
    indices = random.integers(0, columns, (rows, each))
    indices.sort(1)
    values = random.standard_normal(rows * each)
    x = sp.csr_matrix(
        (values, indices.ravel(), np.arange(0, rows * each + 1, each)), (rows, columns)
    )
    x.sum_duplicates()
    y = (random.random(rows) < expit(x @ random.standard_normal(columns))).astype(float)
    packed = {
        "layout": "csr",
        "shape": [rows, columns],
        "indptr": array(x.indptr.astype(np.int32)),
        "indices": array(x.indices.astype(np.int32)),
        "values": array(x.data),
    }
    body = msgpack.packb({"args": [packed, array(y)], "model": "logistic", "l2": 1.0})
    headers = {"content-type": "application/msgpack", "prefer": "respond-async"}
    with Follower(server.url) as here:
        answer = here.http.post("/v1/fit", content=body, headers=headers)
        run = here.wait(msgpack.unpackb(answer.content)["run"], longest_s=90)
        assert run["success"], run
        told = [event.data for event in here.events(run["run"]) if event.kind == "progress"]
        assert {"iteration", "value", "gradient_norm"} <= set(told[-1])
    b = np.array(run["result"]["coef"])
    gradient = x.T @ (expit(x @ b[1:] + b[0]) - y) + b[1:]
    assert np.max(np.abs(gradient)) < 1e-4


def array(values: np.ndarray) -> dict[str, Any]:
    """A dense value in msgpack."""
    kind, shape = values.dtype.name, list(values.shape)
    return {"dtype": kind, "shape": shape, "data": values.tobytes()}
