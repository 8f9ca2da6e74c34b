"""What a user writes instead: gradients of one function with FastAPI, pydantic and jax.jit.

Also holds an empty route, the floor that FastAPI itself sets.
"""

import jax
import jax.numpy as jnp
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

jax.config.update("jax_enable_x64", True)
app = FastAPI()


def rosenbrock(x):
    """Sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2."""
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


gradient = jax.jit(jax.grad(rosenbrock))


class Point(BaseModel):
    """Where the gradient is wanted."""

    x: list[float]


@app.get("/empty")
async def empty() -> dict:
    """Nothing at all."""
    return {}


@app.post("/grad")
async def grad(point: Point) -> dict:
    """The gradient at a point, as a list."""
    return {"gradient": np.asarray(gradient(np.array(point.x))).tolist()}
