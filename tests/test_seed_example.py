"""The example that the product began with: logistic regression written for a dense X, fitted with
BFGS on a sparse one; the coefficients are those of SciPy on the dense matrix."""

from __future__ import annotations

import httpx
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from scipy.special import expit

from tests.serving import ServerProcess

SOURCE = """
def loss(beta, X, y, l2=0.1):
    z = X @ beta
    return jnp.sum(jnp.logaddexp(0.0, z) - y * z) + 0.5 * l2 * jnp.sum(beta**2)
"""
ROWS, COLUMNS, L2 = 2000, 40, 0.1


def data() -> tuple[sp.csr_matrix, np.ndarray]:
    """A sparse design matrix, and labels drawn from a logistic model on it."""
    chance = np.random.default_rng(7)
    X = sp.random(ROWS, COLUMNS, density=0.1, format="csr", random_state=7)
    truth = chance.standard_normal(COLUMNS)
    y = (chance.random(ROWS) < expit(X @ truth)).astype(float)
    return X, y


def reference(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """SciPy's BFGS with the gradient written by hand, polished by Newton's method."""

    def value(beta: np.ndarray) -> float:
        z = X @ beta
        return float(np.sum(np.logaddexp(0, z) - y * z) + L2 / 2 * beta @ beta)

    def slope(beta: np.ndarray) -> np.ndarray:
        return X.T @ (expit(X @ beta) - y) + L2 * beta

    beta = scipy.optimize.minimize(value, np.zeros(COLUMNS), jac=slope, method="BFGS").x
    for _ in range(5):
        p = expit(X @ beta)
        curvature = X.T @ (X * (p * (1 - p))[:, None]) + L2 * np.eye(COLUMNS)
        beta = beta - np.linalg.solve(curvature, slope(beta))
    return beta


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_the_coefficients_are_those_of_scipy(server: ServerProcess, layout: str) -> None:
    X, y = data()
    coo = X.tocoo()
    pattern = (
        {"indptr": X.indptr.tolist(), "indices": X.indices.tolist()}
        if layout == "csr"
        else {"row": coo.row.tolist(), "col": coo.col.tolist()}
    )
    values = (X if layout == "csr" else coo).data.tolist()
    with httpx.Client(base_url=server.url, timeout=120) as client:
        matrix = {"layout": layout, "shape": [ROWS, COLUMNS], **pattern, "values": values}
        posted = client.post("/v1/arrays", json=matrix)
        body = {
            "function": SOURCE,
            "args": {
                "beta": [0.0] * COLUMNS,
                "X": {"ref": posted.json()["array"]},
                "y": y.tolist(),
            },
            "method": "bfgs",
        }
        answer = client.post("/v1/minimize", json=body).json()
    assert answer["success"], answer
    found = np.asarray(answer["result"]["solution"])
    np.testing.assert_allclose(found, reference(X.toarray(), y), rtol=1e-6, atol=1e-8)


def test_its_gradient_in_the_nonzeros_is_the_dense_one_there(server: ServerProcess) -> None:
    X, y = data()
    coo = X.tocoo()
    beta = np.linspace(-1, 1, COLUMNS)
    matrix = {
        "layout": "coo",
        "shape": [ROWS, COLUMNS],
        "row": coo.row.tolist(),
        "col": coo.col.tolist(),
        "values": coo.data.tolist(),
    }
    body = {"function": SOURCE, "args": [beta.tolist(), matrix, y.tolist()], "wrt": "X"}
    answer = httpx.post(server.url + "/v1/grad", json=body, timeout=120).json()
    wanted = np.outer(expit(X @ beta) - y, beta)[coo.row, coo.col]
    np.testing.assert_allclose(answer["result"]["values"], wanted, rtol=1e-12)
