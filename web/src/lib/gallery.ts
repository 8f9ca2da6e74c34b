// Examples that teach one thing each. One that needs a verb or a layout the server does not
// offer (judged by its openapi.json) is not shown at all.

import type { Settings } from './request';
import type { Json } from './wire';
import { randomMatrix, randomVector } from './random';

export interface Example {
  id: string;
  title: string;
  lesson: string;
  settings: Partial<Settings> & { source: string; verb: string };
  args: Record<string, Json>;
  /** What the server must offer: verbs, or paths of its document. */
  needs?: string[];
  /** Range of the plot, where the default does not show it best. */
  range?: [number, number];
  /** Ranges of the sliders, likewise. */
  sliders?: Record<string, [number, number]>;
}

const sine: Example = {
  id: 'sine',
  title: 'Sine and its derivatives',
  lesson: 'One line in; value, slope and curvature out, over a whole range at once.',
  settings: { source: 'sin(x) * exp(-x^2 / 20)', verb: 'grad' },
  args: { x: 1.5 },
  range: [-8, 8],
};

const rosenbrock: Example = {
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

const nanTrap: Example = {
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

const blackScholes: Example = {
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

const softmax: Example = {
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

const himmelblau: Example = {
  id: 'himmelblau',
  title: 'Curvature of Himmelblau’s function',
  lesson: 'Four minima, one maximum between them: the Hessian tells which is which.',
  settings: { source: '(x^2 + y - 11)^2 + (x + y^2 - 7)^2', verb: 'hessian', wrt: ['x', 'y'] },
  args: { x: -0.27, y: -0.92 },
  range: [-5, 5],
};

const mlp: Example = {
  id: 'mlp',
  title: 'Backpropagation through a small network',
  lesson: 'The gradient comes back in the shape of the parameters: a list of layers.',
  settings: {
    source: `def loss(layers, x, target):
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    out = x @ layers[-1]["w"] + layers[-1]["b"]
    return jnp.mean((out - target)**2)`,
    verb: 'grad',
  },
  args: {
    layers: [
      { w: randomMatrix(2, 4, 'normal', 1), b: [0, 0, 0, 0] },
      { w: randomMatrix(4, 1, 'normal', 2), b: [0] },
    ],
    x: [[0, 0], [0, 1], [1, 0], [1, 1]],
    target: [[0], [1], [1], [0]],
  },
};

const cnn: Example = {
  id: 'cnn',
  title: 'What a convolution looks at',
  lesson: 'The gradient of a score with respect to the image is a map of what mattered.',
  settings: {
    source: `def score(image, kernel):
    x = image[None, None, :, :]
    k = kernel[None, None, :, :]
    edges = jax.lax.conv(x, k, (1, 1), "SAME")
    return jnp.sum(jax.nn.relu(edges))`,
    verb: 'grad',
  },
  args: {
    image: [
      [0, 0, 5, 13, 9, 1, 0, 0], [0, 0, 13, 15, 10, 15, 5, 0], [0, 3, 15, 2, 0, 11, 8, 0],
      [0, 4, 12, 0, 0, 8, 8, 0], [0, 5, 8, 0, 0, 9, 8, 0], [0, 4, 11, 0, 1, 12, 7, 0],
      [0, 2, 14, 5, 10, 12, 0, 0], [0, 0, 6, 13, 10, 0, 0, 0],
    ],
    kernel: [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
  },
};

const rnn: Example = {
  id: 'rnn',
  title: 'Gradients that fade through time',
  lesson: 'A scan is one loop in the compiled program; early inputs hardly move the last state.',
  settings: {
    source: `def last_state(inputs, keep, drive):
    def step(state, x):
        state = jnp.tanh(keep * state + drive * x)
        return state, state
    final, _ = jax.lax.scan(step, 0.0, inputs)
    return final`,
    verb: 'grad',
  },
  args: { inputs: randomVector(16, 'normal', 4), keep: 0.8, drive: 0.6 },
};

const pendulum: Example = {
  id: 'pendulum',
  title: 'A pendulum, differentiated',
  lesson: 'How the whole swing shifts when the start does: forward mode, one push.',
  settings: {
    source: `def swing(angle, damping):
    def step(state, _):
        th, om = state
        om = om - 0.05 * (jnp.sin(th) + damping * om)
        th = th + 0.05 * om
        return (th, om), th
    _, path = jax.lax.scan(step, (angle, 0.0), None, length=240)
    return path`,
    verb: 'jvp',
    wrt: ['angle'],
    direction: '[1]',
  },
  args: { angle: 2.5, damping: 0.1 },
  sliders: { angle: [-3.1, 3.1], damping: [0, 1] },
};

const heat: Example = {
  id: 'heat',
  title: 'The heat equation',
  lesson: 'Every step is one stencil; the Jacobian of the end in the start is the heat kernel.',
  settings: {
    source: `def diffuse(start):
    def step(u, _):
        inner = u[2:] - 2 * u[1:-1] + u[:-2]
        return u.at[1:-1].add(0.4 * inner), None
    end, _ = jax.lax.scan(step, start, None, length=30)
    return end`,
    verb: 'jacobian',
    mode: 'forward',
  },
  args: { start: [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0] },
};

const logistic: Example = {
  id: 'logistic',
  title: 'Logistic regression, its Hessian',
  lesson: 'The curvature of a likelihood: what Newton’s method and standard errors are made of.',
  settings: {
    source: `def loss(w, X, y):
    margin = (2 * y - 1) * (X @ w)
    return jnp.mean(jnp.log1p(jnp.exp(-margin))) + 0.01 * w @ w`,
    verb: 'hessian',
  },
  args: {
    w: [0.3, -0.4, 0.1, 0.2],
    X: randomMatrix(12, 4, 'normal', 5),
    y: [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1],
  },
};

/** A small tridiagonal matrix in CSR. */
function tridiagonal(n: number): Json {
  const [indptr, indices, values]: [number[], number[], number[]] = [[0], [], []];
  for (let i = 0; i < n; i++) {
    for (const j of [i - 1, i, i + 1]) {
      if (j < 0 || j >= n) continue;
      indices.push(j);
      values.push(i === j ? 2 : 0.5);
    }
    indptr.push(indices.length);
  }
  return { layout: 'csr', shape: [n, n], indptr, indices, values };
}

const sparseProduct: Example = {
  id: 'sparse-log1p',
  title: 'log1p of a sparse matrix',
  lesson: 'Dense code on a sparse argument: zeros stay zeros, the gradient keeps the pattern.',
  settings: { source: 'lambda M, v: jnp.sum(jnp.log1p(M.T) @ v)', verb: 'grad', wrt: ['M'] },
  args: { M: tridiagonal(12), v: randomVector(12, 'normal', 7) },
  needs: ['/v1/arrays/{array_id}/pattern'],
};

const minimise: Example = {
  id: 'bfgs',
  title: 'BFGS down the valley',
  lesson: 'The same valley as before, crossed in a few dozen steps by a method that learns it.',
  settings: {
    source: `def rosenbrock(p):
    x, y = p
    return (1 - x)**2 + 100 * (y - x**2)**2`,
    verb: 'minimize',
  },
  args: { p: [-1.2, 1] },
  range: [-2, 2],
  needs: ['minimize'],
};

const lorenz: Example = {
  id: 'lorenz',
  title: 'Lorenz’s butterfly',
  lesson: 'Three equations, no noise, no forecast: integrated with steps that adapt.',
  settings: {
    source: `def lorenz(t, y, rho):
    a, b, c = y
    return jnp.stack([10 * (b - a), a * (rho - c) - b, a * b - 8 / 3 * c])`,
    verb: 'ode',
    extra: JSON.stringify({ t1: 25, ts: Array.from({ length: 1001 }, (_, i) => i / 40) }),
  },
  args: { y: [1, 1, 1], rho: 28 },
  sliders: { rho: [0, 40] },
  needs: ['ode'],
};

const training: Example = {
  id: 'training',
  title: 'Training a network on exclusive or',
  lesson: 'The loss of before, now walked down: watch it fall, stop it when you like.',
  settings: {
    source: mlp.settings.source,
    verb: 'fit',
    extra: '{"epochs": 400, "seed": 1}',
  },
  args: mlp.args,
  needs: ['fit'],
};

export const EXAMPLES: Example[] = [
  sine, rosenbrock, nanTrap, blackScholes, softmax, himmelblau,
  logistic, mlp, cnn, rnn, pendulum, heat, sparseProduct, minimise, lorenz, training,
];

/** The examples that a server offering these verbs and paths can run. */
export function offered(offers: ReadonlySet<string>): Example[] {
  return EXAMPLES.filter((example) => (example.needs ?? []).every((need) => offers.has(need)));
}
