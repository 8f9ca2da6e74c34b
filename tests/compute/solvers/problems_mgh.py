"""The 35 problems of Moré, Garbow and Hillstrom, ACM Trans. Math. Software 7 (1981), 17-41.

Written from the published formulas. ``source`` defines the residuals r(x); the objective is their
sum of squares. ``minima`` are the published ones (local ones too); problem 11 has the correction
of its well-known misprint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    """One problem: the residuals as source, the standard start, the published minima."""

    number: int
    name: str
    source: str
    start: list[float]
    minima: tuple[float, ...]

    @property
    def objective(self) -> str:
        """The source with the sum of squares as its entry."""
        return self.source + "\n\ndef f(x):\n    return jnp.sum(r(x) ** 2)\n"


def _source(body: str) -> str:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return f"def r(x):\n{lines}\n"


BARD = [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39]
GAUSS = [0.0009, 0.0044, 0.0175, 0.054, 0.1295, 0.242, 0.3521, 0.3989]
MEYER = [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427,
         3820, 3307, 2872]  # fmt: skip
KOWALIK_Y = [0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246]
KOWALIK_U = [4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625]
OSBORNE1 = [0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.85, 0.818, 0.784, 0.751, 0.718,
            0.685, 0.658, 0.628, 0.603, 0.58, 0.558, 0.538, 0.522, 0.506, 0.49, 0.478, 0.467,
            0.457, 0.448, 0.438, 0.431, 0.424, 0.42, 0.414, 0.411, 0.406]  # fmt: skip
OSBORNE2 = [1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679,
            0.608, 0.655, 0.616, 0.606, 0.602, 0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644,
            0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.5, 0.423, 0.395, 0.375, 0.372, 0.391,
            0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668,
            0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739, 0.71, 0.729, 0.72, 0.636, 0.581,
            0.428, 0.292, 0.162, 0.098, 0.054]  # fmt: skip
WATSON = """
n = x.shape[0]
t = jnp.arange(1.0, 30.0)[:, None] / 29.0
j = jnp.arange(n)
slope = jnp.sum(j[1:] * x[1:] * t ** (j[1:] - 1), axis=1)
value = jnp.sum(x * t ** j, axis=1)
return jnp.concatenate([slope - value ** 2 - 1.0, jnp.stack([x[0], x[1] - x[0] ** 2 - 1.0])])
"""
PENALTY1 = """
return jnp.concatenate([jnp.sqrt(1e-5) * (x - 1.0), jnp.array([jnp.sum(x ** 2) - 0.25])])
"""
PENALTY2 = """
n = x.shape[0]
i = jnp.arange(2.0, n + 1.0)
y = jnp.exp(i / 10) + jnp.exp((i - 1) / 10)
a = jnp.sqrt(1e-5)
first = a * (jnp.exp(x[1:] / 10) + jnp.exp(x[:-1] / 10) - y)
second = a * (jnp.exp(x[1:] / 10) - jnp.exp(-0.1))
last = jnp.sum(jnp.arange(float(n), 0.0, -1.0) * x ** 2) - 1.0
return jnp.concatenate([jnp.array([x[0] - 0.2]), first, second, jnp.array([last])])
"""
CHEBYQUAD = """
n = x.shape[0]
y = 2.0 * x - 1.0
before, here = jnp.ones(n), y
out = []
for i in range(1, n + 1):
    integral = 0.0 if i % 2 else -1.0 / (i * i - 1.0)
    out.append(jnp.mean(here) - integral)
    before, here = here, 2.0 * y * here - before
return jnp.stack(out)
"""


def _boundary(n: int) -> list[float]:
    t = np.arange(1, n + 1) / (n + 1)
    return list(t * (t - 1))


def _problem(number: int, name: str, body: str, start: list[float], *minima: float) -> Problem:
    return Problem(number, name, _source(body), [float(x) for x in start], minima)


PROBLEMS = (
    _problem(1, "Rosenbrock", "return jnp.stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])",
             [-1.2, 1.0], 0.0),
    _problem(2, "Freudenstein and Roth", """
return jnp.stack([-13.0 + x[0] + ((5.0 - x[1]) * x[1] - 2.0) * x[1],
                  -29.0 + x[0] + ((x[1] + 1.0) * x[1] - 14.0) * x[1]])""",
             [0.5, -2.0], 0.0, 48.98425),
    _problem(3, "Powell badly scaled", """
return jnp.stack([1e4 * x[0] * x[1] - 1.0, jnp.exp(-x[0]) + jnp.exp(-x[1]) - 1.0001])""",
             [0.0, 1.0], 0.0),
    _problem(4, "Brown badly scaled",
             "return jnp.stack([x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2.0])", [1.0, 1.0], 0.0),
    _problem(5, "Beale", """
return jnp.array([1.5, 2.25, 2.625]) - x[0] * (1.0 - x[1] ** jnp.arange(1, 4))""",
             [1.0, 1.0], 0.0),
    _problem(6, "Jennrich and Sampson", """
i = jnp.arange(1.0, 11.0)
return 2.0 + 2.0 * i - (jnp.exp(i * x[0]) + jnp.exp(i * x[1]))""", [0.3, 0.4], 124.36218),
    _problem(7, "Helical valley", """
theta = jnp.arctan2(x[1], x[0]) / (2.0 * jnp.pi)
return jnp.stack([10.0 * (x[2] - 10.0 * theta),
                  10.0 * (jnp.sqrt(x[0] ** 2 + x[1] ** 2) - 1.0), x[2]])""",
             [-1.0, 0.0, 0.0], 0.0),
    _problem(8, "Bard", f"""
u = jnp.arange(1.0, 16.0)
v = 16.0 - u
return jnp.array({BARD}) - (x[0] + u / (v * x[1] + jnp.minimum(u, v) * x[2]))""",
             [1.0, 1.0, 1.0], 8.214877e-3, 17.42869),
    _problem(9, "Gaussian", f"""
t = (8.0 - jnp.arange(1.0, 16.0)) / 2.0
return x[0] * jnp.exp(-x[1] * (t - x[2]) ** 2 / 2.0) - jnp.array({GAUSS + GAUSS[-2::-1]})""",
             [0.4, 1.0, 0.0], 1.127933e-8),
    _problem(10, "Meyer", f"""
t = 45.0 + 5.0 * jnp.arange(1.0, 17.0)
return x[0] * jnp.exp(x[1] / (t + x[2])) - jnp.array({[float(y) for y in MEYER]})""",
             [0.02, 4000.0, 250.0], 87.94586),
    _problem(11, "Gulf research and development", """
t = jnp.arange(1.0, 100.0) / 100.0
y = 25.0 + (-50.0 * jnp.log(t)) ** (2.0 / 3.0)
return jnp.exp(-jnp.abs(y - x[1]) ** x[2] / x[0]) - t""", [5.0, 2.5, 0.15], 0.0),
    _problem(12, "Box three-dimensional", """
t = 0.1 * jnp.arange(1.0, 11.0)
return jnp.exp(-t * x[0]) - jnp.exp(-t * x[1]) - x[2] * (jnp.exp(-t) - jnp.exp(-10.0 * t))""",
             [0.0, 10.0, 20.0], 0.0),
    _problem(13, "Powell singular", """
return jnp.stack([x[0] + 10.0 * x[1], jnp.sqrt(5.0) * (x[2] - x[3]), (x[1] - 2.0 * x[2]) ** 2,
                  jnp.sqrt(10.0) * (x[0] - x[3]) ** 2])""", [3.0, -1.0, 0.0, 1.0], 0.0),
    _problem(14, "Wood", """
return jnp.stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0], jnp.sqrt(90.0) * (x[3] - x[2] ** 2),
                  1.0 - x[2], jnp.sqrt(10.0) * (x[1] + x[3] - 2.0),
                  (x[1] - x[3]) / jnp.sqrt(10.0)])""", [-3.0, -1.0, -3.0, -1.0], 0.0),
    _problem(15, "Kowalik and Osborne", f"""
y = jnp.array({KOWALIK_Y})
u = jnp.array({KOWALIK_U})
return y - x[0] * (u ** 2 + u * x[1]) / (u ** 2 + u * x[2] + x[3])""",
             [0.25, 0.39, 0.415, 0.39], 3.075056e-4, 1.027345e-3),
    _problem(16, "Brown and Dennis", """
t = jnp.arange(1.0, 21.0) / 5.0
return (x[0] + t * x[1] - jnp.exp(t)) ** 2 + (x[2] + x[3] * jnp.sin(t) - jnp.cos(t)) ** 2""",
             [25.0, 5.0, -5.0, -1.0], 85822.20),
    _problem(17, "Osborne 1", f"""
t = 10.0 * jnp.arange(33.0)
return jnp.array({OSBORNE1}) - (x[0] + x[1] * jnp.exp(-t * x[3]) + x[2] * jnp.exp(-t * x[4]))""",
             [0.5, 1.5, -1.0, 0.01, 0.02], 5.464895e-5),
    _problem(18, "Biggs EXP6", """
t = 0.1 * jnp.arange(1.0, 14.0)
y = jnp.exp(-t) - 5.0 * jnp.exp(-10.0 * t) + 3.0 * jnp.exp(-4.0 * t)
return (x[2] * jnp.exp(-t * x[0]) - x[3] * jnp.exp(-t * x[1])
        + x[5] * jnp.exp(-t * x[4]) - y)""", [1.0, 2.0, 1.0, 1.0, 1.0, 1.0], 0.0, 5.655650e-3),
    _problem(19, "Osborne 2", f"""
t = jnp.arange(65.0) / 10.0
y = jnp.array({OSBORNE2})
return y - (x[0] * jnp.exp(-t * x[4]) + x[1] * jnp.exp(-(t - x[8]) ** 2 * x[5])
            + x[2] * jnp.exp(-(t - x[9]) ** 2 * x[6])
            + x[3] * jnp.exp(-(t - x[10]) ** 2 * x[7]))""",
             [1.3, 0.65, 0.65, 0.7, 0.6, 3.0, 5.0, 7.0, 2.0, 4.5, 5.5], 4.013774e-2, 1.789814),
    _problem(20, "Watson, n = 6", WATSON, [0.0] * 6, 2.287670e-3),
    _problem(20, "Watson, n = 9", WATSON, [0.0] * 9, 1.399760e-6),
    _problem(20, "Watson, n = 12", WATSON, [0.0] * 12, 4.722381e-10),
    _problem(21, "Extended Rosenbrock", """
a, b = x[0::2], x[1::2]
return jnp.concatenate([10.0 * (b - a ** 2), 1.0 - a])""", [-1.2, 1.0] * 5, 0.0),
    _problem(22, "Extended Powell singular", """
a, b, c, d = x[0::4], x[1::4], x[2::4], x[3::4]
return jnp.concatenate([a + 10.0 * b, jnp.sqrt(5.0) * (c - d), (b - 2.0 * c) ** 2,
                        jnp.sqrt(10.0) * (a - d) ** 2])""", [3.0, -1.0, 0.0, 1.0] * 3, 0.0),
    _problem(23, "Penalty I, n = 4", PENALTY1, [1, 2, 3, 4], 2.249978e-5),
    _problem(23, "Penalty I, n = 10", PENALTY1, list(range(1, 11)), 7.087651e-5),
    _problem(24, "Penalty II, n = 4", PENALTY2, [0.5] * 4, 9.376293e-6),
    _problem(24, "Penalty II, n = 10", PENALTY2, [0.5] * 10, 2.936605e-4),
    _problem(25, "Variably dimensioned", """
weighted = jnp.sum(jnp.arange(1.0, x.shape[0] + 1.0) * (x - 1.0))
return jnp.concatenate([x - 1.0, jnp.stack([weighted, weighted ** 2])])""",
             [1.0 - j / 10 for j in range(1, 11)], 0.0),
    _problem(26, "Trigonometric", """
n = x.shape[0]
i = jnp.arange(1.0, n + 1.0)
return n - jnp.sum(jnp.cos(x)) + i * (1.0 - jnp.cos(x)) - jnp.sin(x)""",
             [0.1] * 10, 0.0, 2.795056e-5),
    _problem(27, "Brown almost-linear", """
n = x.shape[0]
return jnp.concatenate([x[:-1] + jnp.sum(x) - (n + 1.0), jnp.array([jnp.prod(x) - 1.0])])""",
             [0.5] * 10, 0.0, 1.0),
    _problem(28, "Discrete boundary value", """
n = x.shape[0]
h = 1.0 / (n + 1)
t = jnp.arange(1.0, n + 1.0) * h
wide = jnp.concatenate([jnp.zeros(1), x, jnp.zeros(1)])
return 2.0 * x - wide[:-2] - wide[2:] + h ** 2 * (x + t + 1.0) ** 3 / 2.0""",
             _boundary(10), 0.0),
    _problem(29, "Discrete integral equation", """
n = x.shape[0]
h = 1.0 / (n + 1)
t = jnp.arange(1.0, n + 1.0) * h
cube = (x + t + 1.0) ** 3
below = jnp.cumsum(t * cube)
above = jnp.sum((1.0 - t) * cube) - jnp.cumsum((1.0 - t) * cube)
return x + h * ((1.0 - t) * below + t * above) / 2.0""", _boundary(10), 0.0),
    _problem(30, "Broyden tridiagonal", """
wide = jnp.concatenate([jnp.zeros(1), x, jnp.zeros(1)])
return (3.0 - 2.0 * x) * x - wide[:-2] - 2.0 * wide[2:] + 1.0""", [-1.0] * 10, 0.0),
    _problem(31, "Broyden banded", """
n = x.shape[0]
i = jnp.arange(n)
away = i[None, :] - i[:, None]
band = (away >= -5) & (away <= 1) & (away != 0)
return x * (2.0 + 5.0 * x ** 2) + 1.0 - band @ (x * (1.0 + x))""", [-1.0] * 10, 0.0),
    _problem(32, "Linear, full rank", """
n, m = x.shape[0], 20
mean = 2.0 / m * jnp.sum(x)
return jnp.concatenate([x, jnp.zeros(m - n)]) - mean - 1.0""", [1.0] * 10, 10.0),
    _problem(33, "Linear, rank 1", """
i = jnp.arange(1.0, 21.0)
return i * jnp.sum(jnp.arange(1.0, x.shape[0] + 1.0) * x) - 1.0""",
             [1.0] * 10, 20.0 * 19.0 / (2.0 * 41.0)),
    _problem(34, "Linear, rank 1 with zero columns and rows", """
n, m = x.shape[0], 20
inner = jnp.sum(jnp.arange(2.0, float(n)) * x[1:-1])
i = jnp.arange(1.0, m + 1.0)
return jnp.where((i == 1) | (i == m), 0.0, i - 1.0) * inner - 1.0""",
             [1.0] * 10, (400.0 + 60.0 - 6.0) / (2.0 * 37.0)),
    _problem(35, "Chebyquad, n = 8", CHEBYQUAD, [j / 9 for j in range(1, 9)], 3.516873e-3),
    _problem(35, "Chebyquad, n = 9", CHEBYQUAD, [j / 10 for j in range(1, 10)], 0.0),
    _problem(35, "Chebyquad, n = 10", CHEBYQUAD, [j / 11 for j in range(1, 11)],
             4.772714e-3, 6.503955e-3),
)  # fmt: skip
