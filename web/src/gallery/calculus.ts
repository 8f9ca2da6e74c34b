// Derivatives themselves: slopes, curvature, sensitivities, and where they break.

import type { Example } from './example';

export const sine: Example = {
  id: 'sine',
  title: 'Sine and its derivatives',
  lesson: 'One line in; value, slope and curvature out, over a whole range at once.',
  settings: { source: 'sin(x) * exp(-x^2 / 20)', verb: 'grad' },
  args: { x: 1.5 },
  range: [-8, 8],
};

export const rosenbrock: Example = {
  id: 'rosenbrock',
  title: 'Rosenbrock’s valley',
  lesson: 'Why gradient descent zigzags: the arrows point across the valley, not along it.',
  settings: {
    source: `def rosenbrock(x, y):
    wall = y - x**2
    return (1 - x)**2 + 10 * wall**2`,
    verb: 'grad',
    wrt: ['x', 'y'],
  },
  args: { x: -1.2, y: 1 },
  range: [-2, 2],
  sliders: { x: [-2, 2], y: [-2, 2] },
};

export const nanTrap: Example = {
  id: 'nan-trap',
  title: 'A NaN trap',
  lesson: 'One score too large for exp and a probability is not a number. The line that did it is named.',
  settings: {
    source: `def probabilities(scores):
    weights = jnp.exp(scores)
    return weights / jnp.sum(weights)`,
    verb: 'evaluate',
  },
  args: { scores: [1, 10, 1000] },
};

export const blackScholes: Example = {
  id: 'black-scholes',
  title: 'Black–Scholes and its Greeks',
  lesson: 'Every sensitivity of a price in one backward pass: delta, vega, rho, theta.',
  settings: {
    source: `def call_price(spot, strike, vol, rate, years):
    spread = vol * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + vol**2 / 2) * years) / spread
    d2 = d1 - spread
    N = jax.scipy.stats.norm.cdf
    return spot * N(d1) - strike * jnp.exp(-rate * years) * N(d2)`,
    verb: 'value_and_grad',
    wrt: ['spot', 'vol', 'rate', 'years'],
  },
  args: { spot: 100, strike: 105, vol: 0.2, rate: 0.03, years: 1 },
  range: [50, 160],
  sliders: { spot: [50, 160], strike: [50, 160], vol: [0.02, 0.8], rate: [-0.02, 0.1], years: [0.02, 3] },
};

export const softmax: Example = {
  id: 'softmax',
  title: 'The Jacobian of softmax',
  lesson: 'Rows sum to zero: raising one score takes probability from all the others.',
  settings: {
    source: `def softmax(scores):
    shifted = scores - jnp.max(scores)
    weights = jnp.exp(shifted)
    return weights / jnp.sum(weights)`,
    verb: 'jacobian',
  },
  args: { scores: [2, 1, 0.1, -1, 0.5, 1.5] },
};

export const himmelblau: Example = {
  id: 'himmelblau',
  title: 'Curvature of Himmelblau’s function',
  lesson: 'Four minima, one maximum between them: the Hessian tells which is which.',
  settings: { source: '(x^2 + y - 11)^2 + (x + y^2 - 7)^2', verb: 'hessian', wrt: ['x', 'y'] },
  args: { x: -0.27, y: -0.92 },
  range: [-5, 5],
};
