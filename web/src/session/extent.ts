// How many numbers a request will answer with, as far as shapes tell: what is too large to travel
// to the page stays at the server.

import type { Json } from '../api/json';
import { leaves, read } from '../api/wire';
import { wireOf, type Input } from '../inputs/input';
import { differentiated, type Settings } from './request';

/** More numbers than this are read, and drawn, in more than the blink of an eye. */
const ANSWER = 200_000;
/** An uploaded array is larger than what anybody typed: so are, as a rule, results of its shape. */
const GIVEN = 20_000;

/** Whether the result of a request should stay at the server. */
export function isLarge(settings: Settings, inputs: readonly Input[], output: Json | null): boolean {
  return inputs.some((input) => input.kind === 'reference' && countOf(input) > GIVEN) || answered(settings, inputs, output) > ANSWER;
}

/** Numbers that an input holds; of a sparse one its entries. */
function countOf(input: Input): number {
  const { reference } = input;
  if (input.kind === 'reference') return reference ? (reference.nse ?? product(reference.shape)) : 0;
  const value = wireOf(input);
  return value === undefined ? 1 : leaves(read(value)).reduce((sum, { value: part }) => sum + (part.kind === 'tensor' ? part.data.length : part.kind === 'sparse' ? part.values.length : 1), 0);
}

/** Numbers of a tree of shapes, as the server tells of a result before it is computed. */
function countOfShapes(tree: Json): number {
  if (Array.isArray(tree)) return tree.reduce<number>((sum, part) => sum + countOfShapes(part), 0);
  if (typeof tree !== 'object' || tree === null) return 1;
  if (Array.isArray(tree.shape) && typeof tree.dtype === 'string') return product(tree.shape.map(Number));
  return Object.values(tree).reduce<number>((sum, part) => sum + countOfShapes(part), 0);
}

const product = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

function answered(settings: Settings, inputs: readonly Input[], output: Json | null): number {
  const names = differentiated(settings, inputs.map(({ name }) => name));
  const into = inputs.filter(({ name }) => names.includes(name)).reduce((sum, input) => sum + countOf(input), 0);
  const out = output === null ? 1 : countOfShapes(output);
  // Of a sparse derivative only the pattern is known, and only to the server.
  const all = settings.sparse ? Math.max(into, out) : into * out;
  const { ts } = settings.fields;
  const times = Array.isArray(ts) ? ts.length : 1;
  const sizes: Record<string, number> = {
    evaluate: out, jacobian: all, hessian: settings.sparse ? into : into * into, jvp: 2 * out,
    ode: times * inputs.reduce((sum, input) => sum + countOf(input), 0),
  };
  return Object.hasOwn(sizes, settings.verb) ? sizes[settings.verb]! : into + out;
}
