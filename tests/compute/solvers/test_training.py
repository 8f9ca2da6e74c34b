"""``fit`` of a loss: every row once an epoch, its value, schedules, divergence; against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.core.errors import InvalidArgument
from tests.compute.solvers.solving import Program, solve

SEED = {"seed": np.asarray(3, np.int32)}
SQUARES = "lambda p, X, y: (X @ p - y)**2"


@pytest.mark.parametrize(("held", "split"), [(0, 0.0), (3, 0.3)])
def test_every_row_for_training_is_used_once_an_epoch(held: int, split: float) -> None:
    # Each row moves an entry of its own: by 1/3 in a batch of three, by 1 in a batch of one.
    given = {"method": "sgd", "options": {"learning_rate": 1.0}, "batch_size": 3, "epochs": 1}
    if held:
        given["validation_split"] = split
    args = [np.zeros(10), np.eye(10)]
    found = solve("fit", "lambda p, X: -(X @ p)", args, groups=SEED, **given)
    moved = np.sort(found["solution"])
    rest = (10 - held) % 3
    wanted = [0.0] * held + [1 / 3] * (10 - held - rest) + [1.0 / max(rest, 1)] * rest
    assert moved == pytest.approx(np.array(wanted), abs=1e-12)
    assert found["statistics"]["iterations"] == -(-(10 - held) // 3)
    # The value is that of the solution, over the rows for training.
    assert found["value"] == pytest.approx(-moved.sum() / (10 - held))


def test_full_batches_are_gradient_descent_with_a_schedule() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    epochs, rate = 15, 0.1
    given = {"options": {"learning_rate": rate, "schedule": "linear"}, "method": "sgd"}
    found = solve(
        "fit", SQUARES, [np.zeros(3), x, y], groups=SEED, epochs=epochs, batch_size=20, **given
    )
    p, history = np.zeros(3), []
    for step in range(epochs):
        history.append(np.mean((x @ p - y) ** 2))
        p = p - rate * (1 - step / epochs) * 2 * x.T @ (x @ p - y) / 20
    assert found["solution"] == pytest.approx(p, rel=1e-13)
    assert found["history"]["loss"] == pytest.approx(np.array(history), rel=1e-13)
    assert found["value"] == pytest.approx(np.mean((x @ p - y) ** 2), rel=1e-13)


def test_where_the_iterates_diverge_the_last_good_ones_are_told() -> None:
    # Two steps of size 1 from 0 by the slope -1 reach 2, where the loss is no number.
    source = "lambda p, x: jnp.where(p > 1.5, jnp.nan, -p) * x"
    given: dict[str, Any] = {"method": "sgd", "options": {"learning_rate": 1.0}, "batch_size": 4}
    found = solve("fit", source, [0.0, np.ones(4)], groups=SEED, epochs=9, **given)
    assert not found["success"]
    assert found["outcome"] == "failed: the iterates diverge"
    assert np.isfinite(found["solution"])
    assert found["history"]["loss"][:2] == pytest.approx(np.array([0.0, -1.0]))


def test_a_split_that_holds_no_row_back_is_refused() -> None:
    args = [np.zeros(3), np.ones((10, 3)), np.ones(10)]
    with pytest.raises(InvalidArgument, match="holds none back") as refused:
        Program("fit", SQUARES, args, groups=SEED, validation_split=0.01)
    assert refused.value.pointer == "/validation_split"
