// Solvers: the path down, the root, the fit, and what they say when they stop.

import { generator } from '../inputs/random';
import { linspace } from '../inputs/ranges';
import type { Example } from './example';

export const bfgs: Example = {
  id: 'bfgs',
  title: 'BFGS down the valley',
  lesson: 'The same valley as before, crossed in a few dozen steps by a method that learns it.',
  settings: {
    source: `def rosenbrock(p):
    x, y = p
    return (1 - x)**2 + 100 * (y - x**2)**2`,
    verb: 'minimize',
    fields: { method: 'bfgs', trace: true },
  },
  args: { p: [-1.2, 1] },
  range: [-2, 2],
  needs: ['minimize'],
};

export const constrained: Example = {
  id: 'constrained',
  title: 'As low as the circle lets it',
  lesson: 'A constraint is one more function of the source: here h is to be zero.',
  settings: {
    source: `def h(p):
    return p[0]**2 + p[1]**2 - 2

def f(p):
    return p[0] + p[1] + 0.2 * p[0]**2`,
    verb: 'minimize',
    fields: { constraints: { equality: 'h' }, trace: true },
  },
  args: { p: [1.5, 0.5] },
  range: [-2, 2],
  needs: ['minimize'],
};

const t = linspace(0, 5, 26);
const next = generator(12);
const measured = t.map((at) => Math.round(1e3 * (2.5 * Math.exp(-0.8 * at) + 0.4 + 0.08 * (next() - 0.5))) / 1e3);

export const decay: Example = {
  id: 'decay',
  title: 'A decay, measured',
  lesson: 'Least squares gives the rate, and from the curvature how well it is known.',
  settings: {
    source: `def residuals(p, t, y):
    size, rate, floor = p
    return size * jnp.exp(-rate * t) + floor - y`,
    verb: 'least_squares',
  },
  args: { p: [1, 1, 0], t, y: measured },
  needs: ['least_squares'],
};
