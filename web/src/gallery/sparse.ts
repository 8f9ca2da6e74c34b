// Sparse matrices: dense-looking code, of which only the stored entries are computed.

import type { Json } from '../api/json';
import { generator, randomVector } from '../inputs/random';
import type { Example } from './example';

/** CSR of a square matrix with these values on and beside the diagonal. */
function tridiagonal(n: number, middle: number, beside: number): Json {
  const [indptr, indices, values]: [number[], number[], number[]] = [[0], [], []];
  for (let i = 0; i < n; i++) {
    for (const j of [i - 1, i, i + 1]) {
      if (j < 0 || j >= n) continue;
      indices.push(j);
      values.push(i === j ? middle : beside);
    }
    indptr.push(indices.length);
  }
  return { layout: 'csr', shape: [n, n], indptr, indices, values };
}

/** CSR of documents by words: a few words each, some of which tell the label. */
function documents(rows: number, words: number, seed: number): { X: Json; y: number[] } {
  const next = generator(seed);
  const [indptr, indices, values, y]: number[][] = [[0], [], [], []];
  for (let i = 0; i < rows; i++) {
    const label = next() < 0.5 ? 0 : 1;
    const held = new Set<number>();
    while (held.size < 5) held.add(Math.floor((next() * 0.7 + (next() < 0.6 ? label * 0.3 : 0)) * words));
    for (const j of [...held].sort((a, b) => a - b)) {
      indices!.push(j);
      values!.push(1 + Math.floor(next() * 3));
    }
    indptr!.push(indices!.length);
    y!.push(label);
  }
  return { X: { layout: 'csr', shape: [rows, words], indptr: indptr!, indices: indices!, values: values! }, y: y! };
}

const needs = ['/v1/arrays/{array_id}/pattern'];

export const product: Example = {
  id: 'sparse-log1p',
  title: 'log1p of a sparse matrix',
  lesson: 'Dense code on a sparse argument: zeros stay zeros, the gradient keeps the pattern.',
  settings: { source: 'lambda M, v: jnp.sum(jnp.log1p(M.T) @ v)', verb: 'grad', wrt: ['M'] },
  args: { M: tridiagonal(12, 2, 0.5), v: randomVector(12, 'normal', 7) },
  needs,
};

const { X, y } = documents(60, 40, 5);

export const logistic: Example = {
  id: 'sparse-logistic',
  title: 'Sparse logistic regression',
  lesson: 'Sixty texts, forty words, five in each: what is not stored is never read.',
  settings: {
    source: `def loss(w, X, y):
    margin = (2 * y - 1) * (X @ w)
    return jnp.mean(jnp.log1p(jnp.exp(-margin))) + 0.01 * w @ w`,
    verb: 'minimize',
    fields: { method: 'bfgs' },
  },
  args: { w: Array.from({ length: 40 }, () => 0), X, y },
  needs: [...needs, 'minimize'],
};

export const jacobian: Example = {
  id: 'sparse-jacobian',
  title: 'A Jacobian of which most is zero',
  lesson: 'Each output sees three inputs: three products recover every entry, however long x is.',
  settings: {
    source: `def residual(x):
    left = jnp.concatenate([jnp.zeros(1), x[:-1]])
    right = jnp.concatenate([x[1:], jnp.zeros(1)])
    return (3 - 2 * x) * x - left - 2 * right + 1`,
    verb: 'jacobian',
    sparse: true,
  },
  args: { x: randomVector(40, 'normal', 8) },
  needs,
};

export const system: Example = {
  id: 'system',
  title: 'A string under load',
  lesson: 'One sparse system: the second difference of the shape is the load, and the shape a parabola.',
  settings: { source: 'lambda A, load: load', verb: 'linear_solve' },
  args: { A: tridiagonal(60, 2, -1), load: Array.from({ length: 60 }, () => 0.01) },
  needs: ['linear_solve'],
};

export const string: Example = {
  id: 'modes',
  title: 'The tones of a string',
  lesson: 'The lowest eigenvectors of a second difference are the modes of a string: sines.',
  settings: { source: 'lambda A: A', verb: 'eigen', fields: { k: 3, which: 'smallest_magnitude' } },
  args: { A: tridiagonal(60, 2, -1) },
  needs: ['eigen'],
};
