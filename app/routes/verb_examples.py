"""One request of each verb that answers as it stands, for the API document and its page."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

_RESIDUALS = "lambda p, t, y: p[0] * jnp.exp(-p[1] * t) - y"

EXAMPLES: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        "evaluate": {"function": "x**2 + sin(y)", "args": [3, 1]},
        "grad": {"function": "lambda x: x**2 + sin(x)", "args": [3]},
        "value_and_grad": {"function": "lambda x: jnp.sum(x**2)", "args": [[1, 2, 3]]},
        "jacobian": {"function": "lambda x: jnp.exp(x) / jnp.sum(jnp.exp(x))", "args": [[1, 2, 3]]},
        "hessian": {"function": "lambda x: x[0]**2 * x[1]", "args": [[1, 2]]},
        "jvp": {"function": "lambda x: jnp.sin(x)", "args": [[0, 1]], "tangents": [[1, 0]]},
        "vjp": {"function": "lambda x: jnp.sin(x)", "args": [[0, 1]], "cotangents": [1, 0]},
        "hvp": {"function": "lambda x: jnp.sum(x**3)", "args": [[1, 2]], "vectors": [1, 0]},
        "check_grads": {"function": "lambda x: jnp.sum(jnp.log1p(x**2))", "args": [[1, 2]]},
        "abstract_eval": {"function": "lambda x: x @ x.T", "args": [[[1, 2, 3]]]},
        "minimize": {
            "function": "lambda x: (1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2",
            "args": [[-1.2, 1]],
        },
        "root": {"function": "lambda x: jnp.cos(x) - x", "args": [1]},
        "least_squares": {
            "function": _RESIDUALS,
            "args": [[1, 1], [0, 1, 2, 3], [2.0, 1.21, 0.74, 0.45]],
        },
        "fixed_point": {"function": "lambda x: jnp.cos(x)", "args": [1]},
        "ode": {
            "function": "lambda t, y, k: -k * y",
            "args": [1, 0.5],
            "t0": 0,
            "t1": 2,
            "ts": [0, 1, 2],
        },
        "linear_solve": {"args": [[[4, 1], [1, 3]], [1, 2]]},
        "eigen": {"args": [[[2, -1, 0], [-1, 2, -1], [0, -1, 2]]], "k": 2},
        "fit": {"model": "linear", "args": [[[0], [1], [2]], [1, 3, 5]]},
    }
)
