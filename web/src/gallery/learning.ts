// Learning from data: what backpropagation gives, and models trained while one watches.

import type { Json } from '../api/json';
import { randomMatrix, randomVector } from '../inputs/random';
import { digits, SIDE } from './digits';
import type { Example } from './example';

const exclusiveOr = `def loss(layers, x, target):
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    out = x @ layers[-1]["w"] + layers[-1]["b"]
    return jnp.mean((out - target)**2)`;

const exclusiveOrArgs: Record<string, Json> = {
  layers: [
    { w: randomMatrix(2, 4, 'normal', 1), b: [0, 0, 0, 0] },
    { w: randomMatrix(4, 1, 'normal', 2), b: [0] },
  ],
  x: [[0, 0], [0, 1], [1, 0], [1, 1]],
  target: [[0], [1], [1], [0]],
};

export const mlp: Example = {
  id: 'mlp',
  title: 'Backpropagation through a small network',
  lesson: 'The gradient comes back in the shape of the parameters: a list of layers.',
  settings: { source: exclusiveOr, verb: 'grad' },
  args: exclusiveOrArgs,
};

export const training: Example = {
  id: 'training',
  title: 'Training a network on exclusive or',
  lesson: 'The loss of before, now walked down: watch it fall, stop it when you like.',
  settings: { source: exclusiveOr, verb: 'fit', fields: { epochs: 400, seed: 1 } },
  args: exclusiveOrArgs,
  needs: ['fit'],
};

export const convolution: Example = {
  id: 'convolution',
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
  args: { image: digits(1, 0.08, 11).images[0] as Json, kernel: [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]] },
};

/** `count` kernels of 3 by 3, as a convolution takes them. */
function kernels(count: number, seed: number): Json {
  return Array.from({ length: count }, (_, k) => [randomMatrix(3, 3, 'normal', seed + k).map((row) => row.map((v) => v / 3))]);
}

const sample = digits(60, 0.18, 3);
const POOLED = (SIDE / 2) ** 2;

export const cnn: Example = {
  id: 'cnn',
  title: 'A convolutional network on digits',
  lesson: 'Sixty noisy drawings of 0, 1, 2 and 3; the kernels that tell them apart are the result.',
  settings: {
    source: `def loss(net, images, digit):
    x = images[:, None, :, :]
    x = jax.lax.conv(x, net["kernels"], (1, 1), "SAME")
    x = jax.nn.relu(x + net["shift"][:, None, None])
    n, c, h, w = x.shape
    x = jnp.max(x.reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))
    scores = x.reshape(n, -1) @ net["weights"]
    right = jax.nn.one_hot(digit, 4)
    return -jnp.mean(jnp.sum(right * jax.nn.log_softmax(scores), axis=1))`,
    verb: 'fit',
    fields: { method: 'adam', epochs: 60, batch_size: 20, seed: 1, options: { learning_rate: 0.02 } },
  },
  args: {
    net: {
      kernels: kernels(4, 20),
      shift: [0, 0, 0, 0],
      weights: randomMatrix(4 * POOLED, 4, 'normal', 30).map((row) => row.map((v) => v / 8)),
    },
    images: sample.images as Json,
    digit: sample.labels,
  },
  needs: ['fit'],
};

export const rnn: Example = {
  id: 'rnn',
  title: 'Gradients that fade through time',
  lesson: 'A recurrent network is one loop in the compiled program; early inputs hardly move its last state.',
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

export const curvature: Example = {
  id: 'curvature',
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
