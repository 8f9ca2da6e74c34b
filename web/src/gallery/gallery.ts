// The examples, in the order shown. One that needs a verb or a layout which the server does not
// offer (judged by its openapi.json) is not shown at all.

import { blackScholes, himmelblau, nanTrap, rosenbrock, sine, softmax } from './calculus';
import type { Example } from './example';
import { cnn, convolution, curvature, mlp, rnn, training } from './learning';
import { heat, lorenz, pendulum, swing } from './motion';
import { bfgs, constrained, decay } from './solving';
import { jacobian, logistic, product, string, system } from './sparse';

export const GROUPS: { name: string; examples: Example[] }[] = [
  { name: 'Derivatives', examples: [sine, rosenbrock, nanTrap, blackScholes, softmax, himmelblau] },
  { name: 'Solving', examples: [bfgs, constrained, decay] },
  { name: 'Learning', examples: [mlp, training, cnn, convolution, rnn, curvature] },
  { name: 'Motion', examples: [pendulum, swing, lorenz, heat] },
  { name: 'Sparse matrices', examples: [product, logistic, jacobian, system, string] },
];

export const EXAMPLES: Example[] = GROUPS.flatMap(({ examples }) => examples);

/** Whether a server that offers these verbs and paths can run it. */
export function isOffered(example: Example, offers: ReadonlySet<string>): boolean {
  return (example.needs ?? []).every((need) => offers.has(need));
}
