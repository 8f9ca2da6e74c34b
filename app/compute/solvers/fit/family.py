"""Linear, logistic and Poisson models of y given z = X b: losses, means, what y may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from app.compute.solvers.outcomes import Outcome

MODELS = ("linear", "ridge", "logistic", "poisson")
FAR = 700.0
"""A logit of this size is a probability of 0 or 1 to any precision."""


@dataclass(frozen=True)
class Family:
    """One of ``MODELS``."""

    name: str

    @property
    def linear(self) -> bool:
        """Whether it is least squares."""
        return self.name in ("linear", "ridge")

    def loss(self, y: Any, z: Any) -> Any:
        """Negative log-likelihood; half the squares of the residuals for least squares."""
        if self.name == "logistic":
            return jnp.sum(jnp.logaddexp(0.0, z) - y * z)
        if self.name == "poisson":
            return jnp.sum(jnp.exp(z) - y * z)
        return 0.5 * jnp.sum((y - z) ** 2)

    def mean(self, z: Any) -> tuple[Any, Any]:
        """The mean of y given z, and its derivative."""
        if self.name == "logistic":
            p = jax.nn.sigmoid(z)
            return p, p * jax.nn.sigmoid(-z)
        if self.name == "poisson":
            return jnp.exp(z), jnp.exp(z)
        return z, jnp.ones_like(z)

    def allowed(self, y: Any) -> Any:
        """Which entries of y the model may have."""
        if self.name == "logistic":
            return (y == 0) | (y == 1)
        return y >= 0 if self.name == "poisson" else jnp.ones(y.shape, bool)

    def checked(self, y: Any, finite: Any) -> Any:
        """``RUNNING``, or why no fit can be made of the data; ``finite``: whether all of it is."""
        outcome = jnp.zeros((), jnp.int32)
        if self.name == "logistic":
            outcome = jnp.where(jnp.all(y == y[0]), Outcome.ONE_CLASS, outcome)
        outcome = jnp.where(jnp.all(self.allowed(y)), outcome, Outcome.LABELS)
        return jnp.where(finite, outcome, Outcome.DATA).astype(jnp.int32)

    def separated(self, y: Any, z: Any) -> Any:
        """Whether z has every point on its right side, so that no finite maximum is there."""
        signs = jnp.where(y > 0.5, 1.0, -1.0)
        return jnp.all(signs * z > 0) | (jnp.max(jnp.abs(z)) > FAR)

    def start(self, y: Any, size: int, intercept: bool) -> Any:
        """Zero coefficients, intercept first; of a Poisson model the logarithm of the mean."""
        start = jnp.zeros(size, y.dtype)
        if self.name == "poisson" and intercept:
            mean = jnp.mean(y)
            start = start.at[0].set(jnp.log(jnp.where(mean > 0, mean, 1.0)))
        return start
