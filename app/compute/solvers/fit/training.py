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

NOISE = 0.01
"""By how much of itself a loss may end above its start before that is called a failure."""


class Training(NamedTuple):
    """Parameters and optimiser state; the rows of this epoch in order; losses by epoch; the best
    parameters so far."""

    parameters: Any
    optimiser: Any
    order: Any
    batch: Any
    epoch: Any
    total: Any
    losses: Any
    validation: Any
    best: Any
    best_loss: Any
    waited: Any
    outcome: Any


class Moving(NamedTuple):
    """What a batch changes of it."""

    parameters: Any
    optimiser: Any
    total: Any
    batch: Any
    finite: Any


@dataclass(frozen=True)
class Trainer:
    """Minimise the mean over rows of ``loss(parameters, rows)``; data have rows in front.

    ``order``: all rows, those for training first; the last ``held`` are for validation.
    """

    loss: Callable[[Any, Any], Any]
    parameters: Any
    data: Any
    rows: int
    optimiser: optax.GradientTransformation
    batch_size: int
    epochs: int
    held: int
    order: Any
    patience: int | None
    key: Any

    @property
    def real(self) -> Any:
        """The type of losses."""
        return jax.tree.leaves(self.parameters)[0].dtype

    @property
    def trained(self) -> int:
        """Rows for training."""
        return self.rows - self.held

    @property
    def full(self) -> int:
        """Batches of full size an epoch."""
        return self.trained // self.batch_size

    @property
    def batches(self) -> int:
        """Batches an epoch: the last one is smaller where the rows do not come out even."""
        return -(-self.trained // self.batch_size)

    def init(self) -> Training:
        """The start, with room for the history."""
        zero = jnp.zeros((), jnp.int32)
        real = self.real
        history = jnp.full(self.epochs, jnp.nan, real)
        return Training(
            self.parameters, self.optimiser.init(self.parameters), self._mixed(zero), zero, zero,
            jnp.zeros((), real), history, history, self.parameters,
            jnp.full((), jnp.inf, real), zero, zero,
        )  # fmt: skip

    def _mixed(self, epoch: Any) -> Any:
        """The rows of an epoch in its order: sorting them costs more than a batch does."""
        if self.batch_size == self.rows:
            return self.order
        key = jax.random.fold_in(self.key, epoch + 1)
        return jax.random.permutation(key, self.order[: self.trained])

    def _kept(self) -> Any:
        """The rows held back for validation."""
        return self._taken(self.order[self.trained :])

    def _batch(self, order: Any, batch: Any) -> Any:
        """The rows of one full batch of an order; of all data where a batch is all."""
        if self.batch_size == self.rows:
            return self.data
        start = batch * self.batch_size
        return self._taken(jax.lax.dynamic_slice_in_dim(order, start, self.batch_size))

    def _rest(self, order: Any) -> Any:
        """The rows that no full batch holds."""
        return self._taken(order[self.full * self.batch_size : self.trained])

    def _taken(self, rows: Any) -> Any:
        return jax.tree.map(lambda a: a.at[rows].get(mode="promise_in_bounds"), self.data)

    def step(self, state: Training) -> Training:
        """One batch; at the last of an epoch, the epoch's accounts."""
        return self.stride(state, jnp.ones((), jnp.int32))[0]

    def stride(self, state: Training, most: Any) -> tuple[Training, Any]:
        """Batches up to the end of the epoch: what is not changed by a batch stays outside."""
        start = state.batch
        end = start + jnp.minimum(most, self.batches - start)

        def more(now: Moving) -> Any:
            return (now.batch < jnp.minimum(end, self.full)) & now.finite

        def move(now: Moving) -> Moving:
            return self._move(now, self._batch(state.order, now.batch), self.batch_size)

        moving = Moving(state.parameters, state.optimiser, state.total, start, jnp.ones((), bool))
        now = jax.lax.while_loop(more, move, moving)
        if rest := self.trained % self.batch_size:
            now = jax.lax.cond(
                (end > self.full) & now.finite,
                lambda now: self._move(now, self._rest(state.order), rest),
                lambda now: now,
                now,
            )
        outcome = jnp.where(now.finite, state.outcome, Outcome.DIVERGED).astype(jnp.int32)
        moved = state._replace(
            parameters=now.parameters,
            optimiser=now.optimiser,
            batch=now.batch,
            total=now.total,
            outcome=outcome,
        )
        ended = (now.batch >= self.batches) & now.finite
        return jax.lax.cond(ended, self._epoch, lambda s: s, moved), now.batch - start

    def _move(self, now: Moving, rows: Any, count: int) -> Moving:
        """One update, by so many rows."""
        value, gradient = jax.value_and_grad(self.loss)(now.parameters, rows)
        updates, optimiser = self.optimiser.update(gradient, now.optimiser, now.parameters)
        parameters: Any = optax.apply_updates(now.parameters, updates)
        parameters = jax.tree.map(lambda p, q: p.astype(q.dtype), parameters, now.parameters)
        total = now.total + count * value.astype(now.total.dtype)
        return Moving(parameters, optimiser, total, now.batch + 1, jnp.isfinite(value))

    def _epoch(self, state: Training) -> Training:
        """Write the history; keep the best; stop when there is no more to gain."""
        mean = state.total / self.trained
        losses = state.losses.at[state.epoch].set(mean)
        judged, validation = mean, state.validation
        if self.held:
            judged = self.loss(state.parameters, self._kept()).astype(mean.dtype)
            validation = validation.at[state.epoch].set(judged)
        better = judged < state.best_loss
        best = jax.tree.map(lambda a, b: jnp.where(better, a, b), state.parameters, state.best)
        waited = jnp.where(better, 0, state.waited + 1).astype(jnp.int32)
        outcome = jnp.where(state.epoch + 1 >= self.epochs, Outcome.TRAINED, Outcome.RUNNING)
        if self.patience is not None:
            level = Outcome.STOPPED_EARLY if self.held else Outcome.LEVEL
            outcome = jnp.where(waited >= self.patience, level, outcome)
        return state._replace(
            order=self._mixed(state.epoch + 1),
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
        seen = jnp.minimum(state.batch * self.batch_size, self.trained)
        so_far = state.total / jnp.maximum(seen, 1)
        told = {
            "iteration": done,
            "epoch": state.epoch,
            "fraction": done / (self.epochs * self.batches),
            "value": jnp.where(state.epoch > 0, state.losses[last], so_far),
        }
        return {**told, "validation": state.validation[last]} if self.held else told

    def finish(self, state: Training) -> dict[str, Any]:
        """The parameters, their loss, and the history.

        They are the best ones where rows were held back, or where the iterates diverged.
        """
        kept = jnp.asarray(bool(self.held)) | (state.outcome == Outcome.DIVERGED)
        chosen = jax.tree.map(
            lambda best, last: jnp.where(kept, best, last), state.best, state.parameters
        )
        last = jnp.maximum(state.epoch - 1, 0)
        history = {"loss": self._filled(state.losses, last)}
        if self.held:
            history["validation"] = self._filled(state.validation, last)
        return {
            "solution": chosen,
            "value": self._mean(chosen),
            "history": history,
            "best": state.best_loss,
            "epochs": state.epoch,
            "iterations": state.epoch * self.batches + state.batch,
            "outcome": self._judged(state, chosen),
        }

    def _mean(self, parameters: Any) -> Any:
        """The loss over all rows for training, a batch at a time."""

        def add(total: Any, batch: Any) -> tuple[Any, None]:
            loss = self.loss(parameters, self._batch(self.order, batch))
            return total + self.batch_size * loss.astype(self.real), None

        total = jax.lax.scan(add, jnp.zeros((), self.real), jnp.arange(self.full))[0]
        if rest := self.trained % self.batch_size:
            total = total + rest * self.loss(parameters, self._rest(self.order)).astype(self.real)
        return total / self.trained

    def _judged(self, state: Training, chosen: Any) -> Any:
        """The outcome; that the loss worsened where parameters that are told lost to the start.

        Both are compared on the rows held back, or else on the first batch.
        """
        rows = self._kept() if self.held else self._batch(self._mixed(jnp.zeros((), jnp.int32)), 0)
        start, end = self.loss(self.parameters, rows), self.loss(chosen, rows)
        whole = state.outcome != Outcome.DIVERGED
        worse = jnp.isfinite(start) & ~(end <= start + NOISE * jnp.abs(start))
        return jnp.where(whole & worse, Outcome.WORSENED, state.outcome).astype(jnp.int32)

    def _filled(self, history: Any, last: Any) -> Any:
        """A history with its last value for the epochs that were not run."""
        return jnp.where(jnp.arange(self.epochs) <= last, history, history[last])
