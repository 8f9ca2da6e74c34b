// The verbs as mathematics writes them, with the role whose colour they carry.

import type { Role } from '../api/answers';

export interface VerbFace {
  notation: string;
  name: string;
  role: Role;
  says: string;
}

const FACES = new Map<string, VerbFace>(Object.entries<VerbFace>({
  evaluate: { notation: 'f(x)', name: 'Value', role: 'primal', says: 'What the function gives' },
  grad: { notation: '∇f', name: 'Gradient', role: 'cotangent', says: 'How one number changes with each input' },
  value_and_grad: { notation: 'f, ∇f', name: 'Value and gradient', role: 'cotangent', says: 'Both in one pass' },
  jacobian: { notation: 'J', name: 'Jacobian', role: 'cotangent', says: 'All first derivatives' },
  hessian: { notation: 'H', name: 'Hessian', role: 'tangent', says: 'All second derivatives' },
  jvp: { notation: 'J·v', name: 'Push forward', role: 'tangent', says: 'Jacobian times a tangent' },
  vjp: { notation: 'uᵀJ', name: 'Pull back', role: 'cotangent', says: 'Cotangent times the Jacobian' },
  hvp: { notation: 'H·v', name: 'Hessian times vector', role: 'tangent', says: 'Without forming the Hessian' },
  minimize: { notation: 'min', name: 'Minimise', role: 'cotangent', says: 'Find the smallest value' },
  root: { notation: 'f=0', name: 'Root', role: 'tangent', says: 'Solve f(x) = 0' },
  least_squares: { notation: '‖r‖²', name: 'Least squares', role: 'tangent', says: 'Fit residuals' },
  fixed_point: { notation: 'f=x', name: 'Fixed point', role: 'primal', says: 'Solve f(x) = x' },
  linear_solve: { notation: 'Ax=b', name: 'Linear system', role: 'primal', says: 'Solve A x = b, dense or sparse' },
  eigen: { notation: 'λ', name: 'Eigenvalues', role: 'primal', says: 'A few eigenvalues and their vectors' },
  ode: { notation: 'ẏ', name: 'ODE', role: 'primal', says: 'Integrate in time' },
  fit: { notation: 'fit', name: 'Fit', role: 'cotangent', says: 'Train on data' },
}));

/** Whether the page knows what a verb asks for. */
export const isKnown = (verb: string): boolean => FACES.has(verb);

/** How a verb is shown; one that the page does not know is shown by its name. */
export function faceOf(verb: string): VerbFace {
  return FACES.get(verb) ?? { notation: verb.replaceAll('_', ' '), name: verb, role: 'primal', says: verb };
}
