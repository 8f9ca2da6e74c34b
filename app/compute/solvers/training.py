"""``fit`` of the client's own loss: minibatches by any optax optimiser, as a machine.

One step is one batch. Rows are shuffled anew every epoch by the seed; the validation rows are
the last part of a permutation by the same seed, so the same seed gives the same result. A step
at the end of an epoch also takes the validation loss and keeps the best parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from app.compute.solvers.outcomes import Outcome


class Training(NamedTuple):
    """Parameters and optimiser state; losses by epoch; the best parameters so far."""

    parameters: Any
    optimiser: Any
    batch: Any
    epoch: Any
    total: Any
    losses: Any
    validation: Any
    best: Any
    best_loss: Any
    waited: Any
    outcome: Any


@dataclass(frozen=True)
class Trainer:
    """Minimise the mean over rows of ``loss(parameters, rows)``; data have rows in front."""

    loss: Callable[[Any, Any], Any]
    parameters: Any
    data: Any
    optimiser: optax.GradientTransformation
    batch_size: int
    epochs: int
    held: int
    patience: int | None
    seed: int
    pack: Callable[[Any], Any]

    @property
    def rows(self) -> int:
        """Rows in all."""
        return jax.tree.leaves(self.data)[0].shape[0]

    @property
    def batches(self) -> int:
        """Batches an epoch; rows left over wait for the next shuffle."""
        return max(1, (self.rows - self.held) // self.batch_size)

    def init(self) -> Training:
        """The start, with room for the history."""
        zero = jnp.zeros((), jnp.int32)
        real = jax.tree.leaves(self.parameters)[0].dtype
        history = jnp.full(self.epochs, jnp.nan, real)
        return Training(
            self.parameters, self.optimiser.init(self.parameters), zero, zero,
            jnp.zeros((), real), history, history, self.parameters,
            jnp.full((), jnp.inf, real), zero, zero,
        )  # fmt: skip

    def _order(self) -> Any:
        """All rows in the seed's order: those for training first."""
        return jax.random.permutation(jax.random.key(self.seed), self.rows)

    def step(self, state: Training) -> Training:
        """One batch; at the last of an epoch, the epoch's accounts."""
        key = jax.random.fold_in(jax.random.key(self.seed + 1), state.epoch)
        train = self._order()[: self.rows - self.held]
        mixed = train[jax.random.permutation(key, train.size)]
        width = min(self.batch_size, train.size)
        chosen = jax.lax.dynamic_slice_in_dim(mixed, state.batch * width, width)
        rows = jax.tree.map(lambda a: a[chosen], self.data)
        value, gradient = jax.value_and_grad(self.loss)(state.parameters, rows)
        updates, optimiser = self.optimiser.update(gradient, state.optimiser, state.parameters)
        parameters: Any = optax.apply_updates(state.parameters, updates)
        parameters = jax.tree.map(lambda p, q: p.astype(q.dtype), parameters, state.parameters)
        moved = state._replace(
            parameters=parameters,
            optimiser=optimiser,
            batch=state.batch + 1,
            total=state.total + value.astype(state.total.dtype),
        )
        bad = ~jnp.isfinite(value)
        moved = moved._replace(
            outcome=jnp.where(bad, Outcome.DIVERGED, moved.outcome).astype(jnp.int32)
        )
        ended = (moved.batch >= self.batches) & ~bad
        return jax.lax.cond(ended, self._epoch, lambda s: s, moved)

    def _epoch(self, state: Training) -> Training:
        """Write the history; keep the best; stop when there is no more to gain."""
        mean = state.total / self.batches
        losses = state.losses.at[state.epoch].set(mean)
        judged, validation = mean, state.validation
        if self.held:
            rows = jax.tree.map(lambda a: a[self._order()[self.rows - self.held :]], self.data)
            judged = self.loss(state.parameters, rows).astype(mean.dtype)
            validation = validation.at[state.epoch].set(judged)
        better = judged < state.best_loss
        best = jax.tree.map(lambda a, b: jnp.where(better, a, b), state.parameters, state.best)
        waited = jnp.where(better, 0, state.waited + 1).astype(jnp.int32)
        outcome = jnp.where(state.epoch + 1 >= self.epochs, Outcome.TRAINED, Outcome.RUNNING)
        if self.patience is not None:
            outcome = jnp.where(waited >= self.patience, Outcome.STOPPED_EARLY, outcome)
        return state._replace(
            batch=jnp.zeros_like(state.batch),
            epoch=state.epoch + 1,
            total=jnp.zeros_like(state.total),
            losses=losses,
            validation=validation,
            best=best,
            best_loss=jnp.where(better, judged, state.best_loss),
            waited=waited,
            outcome=outcome.astype(jnp.int32),
        )

    def done(self, state: Training) -> Any:
        """Whether there is an outcome."""
        return state.outcome != Outcome.RUNNING

    def progress(self, state: Training) -> dict[str, Any]:
        """Batches done, the part of the whole, and the last losses."""
        last = jnp.maximum(state.epoch - 1, 0)
        done = state.epoch * self.batches + state.batch
        return {
            "iteration": done,
            "epoch": state.epoch,
            "fraction": done / (self.epochs * self.batches),
            "value": jnp.where(state.epoch > 0, state.losses[last], state.total),
            "validation": state.validation[last],
        }

    def finish(self, state: Training) -> dict[str, Any]:
        """The parameters (the best ones where rows were held back), and the history."""
        chosen = state.best if self.held else state.parameters
        last = jnp.maximum(state.epoch - 1, 0)
        return {
            "solution": self.pack(chosen),
            "value": state.losses[last],
            "history": {"loss": state.losses, "validation": state.validation},
            "best": state.best_loss,
            "epochs": state.epoch,
            "iterations": state.epoch * self.batches + state.batch,
            "outcome": state.outcome,
        }
