"""Named regressions: standard errors against certified values and the inverse information."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compute.solvers.solving import solve

FILES = Path(__file__).parents[2] / "data" / "cases" / "files"
CERTIFIED = [
    890420.383607373,
    84.9149257747669,
    0.334910077722432e-01,
    0.488399681651699,
    0.214274163161675,
    0.226073200069370,
    455.478499142212,
]
"""Of the estimates of NIST's Longley, the intercept's first."""


def fit(x: np.ndarray, y: np.ndarray, **options: Any) -> dict[str, Any]:
    return solve("fit", "lambda X, y: 0.0", [x, y], **options)


def test_standard_errors_of_longley() -> None:
    data = json.loads((FILES / "longley.json").read_text())
    x, y = (np.array(data[name], float) for name in ("X", "y"))
    found = fit(x, y, model="linear")
    assert found["standard_errors"] == pytest.approx(np.array(CERTIFIED), rel=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("model", ["linear", "logistic", "poisson"])
def test_standard_errors_are_of_the_inverse_information(model: str, intercept: bool) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(80, 2)) * [1.0, 30.0] + [3.0, 100.0]
    z = 0.4 * (x[:, 0] - 3) - 0.02 * (x[:, 1] - 100)
    y = {
        "linear": z + rng.normal(size=80),
        "logistic": 1.0 * (rng.random(80) < 1 / (1 + np.exp(-z))),
        "poisson": 1.0 * rng.poisson(np.exp(z)),
    }[model]
    found = fit(x, y, model=model, intercept=intercept)
    rows = np.column_stack([np.ones(80), x]) if intercept else x
    fitted = rows @ found["coef"]
    weight = {
        "linear": np.full(80, (80 - rows.shape[1]) / np.sum((y - fitted) ** 2)),
        "logistic": np.exp(fitted) / (1 + np.exp(fitted)) ** 2,
        "poisson": np.exp(fitted),
    }[model]
    wanted = np.sqrt(np.diag(np.linalg.inv(rows.T @ (weight[:, None] * rows))))
    assert found["success"]
    assert found["standard_errors"] == pytest.approx(wanted, rel=1e-6)
    assert "standard_errors" not in fit(x, y, model=model, intercept=intercept, l2=0.1)


def test_the_row_whose_label_is_none_is_named() -> None:
    x, y = np.arange(8.0)[:, None], np.array([0, 1, 0, 1, 2, 1, 0, 1.0])
    found = fit(x, y, model="logistic")
    assert not found["success"]
    assert found["statistics"]["bad_row"] == 4
    assert np.all(np.isnan(found["standard_errors"]))
