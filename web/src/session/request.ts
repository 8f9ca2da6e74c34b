// From what the page shows to the exact request it sends, and back out as a plan for plots.

import { outline, UNREADABLE, wireOf, type Input } from '../inputs/input';
import { parseJson, type Json } from '../api/json';
import { leaves, read } from '../api/wire';

export type Body = { [key: string]: Json };

export interface Settings {
  source: string;
  verb: string;
  wrt: string[];
  /** Axis mapped for each parameter; a parameter that is absent is not mapped. Null: no vmap. */
  vmap: Record<string, number | null> | null;
  dtype: 'float64' | 'float32';
  device: string;
  diagnose: boolean;
  mode: 'auto' | 'forward' | 'reverse';
  sparse: boolean;
  /** JSON text of tangents, cotangents or vectors; empty takes ones. */
  direction: string;
  /** Members of the body that a solver's form asks for. */
  fields: Body;
}

export const DEFAULTS: Settings = {
  source: '',
  verb: 'grad',
  wrt: [],
  vmap: null,
  dtype: 'float64',
  device: '',
  diagnose: true,
  mode: 'auto',
  sparse: false,
  direction: '',
  fields: {},
};

/** Verbs that take `wrt`, what is differentiated or solved for; by default the first parameter. */
export const TAKES_WRT = new Set([
  'grad', 'value_and_grad', 'jacobian', 'hessian', 'jvp', 'vjp', 'hvp', 'check_grads',
  'minimize', 'least_squares', 'root', 'fixed_point',
]);

/** Verbs whose default `wrt` is every parameter, as in JAX. */
const TAKES_ALL = new Set(['jvp', 'vjp']);

/** The parameters that a verb differentiates, given or by default. */
export function differentiated(settings: Settings, names: readonly string[]): string[] {
  if (!TAKES_WRT.has(settings.verb)) return [];
  if (settings.wrt.length) return settings.wrt;
  return TAKES_ALL.has(settings.verb) ? [...names] : names.slice(0, 1);
}

/** Members of the body that the page asks for by other means than a solver's fields. */
export const OWN = new Set([
  'function', 'args', 'wrt', 'vmap', 'dtype', 'device', 'diagnose', 'mode', 'sparse', 'output',
  'tangents', 'cotangents', 'vectors',
]);

/** The member that holds a direction, for verbs that push or pull one. */
export const DIRECTION = new Map([['jvp', 'tangents'], ['vjp', 'cotangents'], ['hvp', 'vectors']]);

/** Arguments by position, or by name when some parameter is left to its default. */
export function argumentsOf(inputs: readonly Input[]): Json {
  const pairs = inputs.map((input) => [input.name, wireOf(input)] as const);
  const given = pairs.filter((pair): pair is readonly [string, Json] => pair[1] !== undefined);
  if (given.length === pairs.length) return given.map(([, value]) => value);
  return Object.fromEntries(given);
}

/** A value of the same tree with every number one: the default direction. */
export function onesLike(value: Json): Json {
  if (Array.isArray(value)) return value.map(onesLike);
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value.shape) && typeof value.dtype === 'string') {
      return filled(value.shape.map(Number), 1);
    }
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, onesLike(part)]));
  }
  return 1;
}

/** More numbers than this are not made up for a request. */
const MOST = 1_000_000;

/** Nested lists of a shape, all of one number. Throws an Error where they would be too many. */
export function filled(shape: readonly number[], value: number): Json {
  const count = shape.reduce((a, b) => a * b, 1);
  if (!(count <= MOST)) throw new Error(`${shape.join(' × ')} ones are too many: give the direction itself.`);
  const [first, ...rest] = shape;
  return first === undefined ? value : Array.from({ length: first }, () => filled(rest, value));
}

/** A value, or the shape of an uploaded array: both say what a direction must look like. */
function shapeless(input: Input): Json {
  const { reference } = input;
  if (input.kind === 'reference' && reference) return { dtype: reference.dtype, shape: reference.shape };
  return wireOf(input) ?? 0;
}

function directionOf(settings: Settings, inputs: readonly Input[], output: Json | null): Json {
  if (settings.direction.trim()) return parseJson(settings.direction);
  if (settings.verb === 'vjp') return output === null ? 1 : onesLike(output);
  const names = differentiated(settings, inputs.map((input) => input.name));
  const chosen = inputs.filter((input) => names.includes(input.name));
  const directions = chosen.map((input) => onesLike(shapeless(input)));
  // Tangents come one a parameter; vectors have the tree of `wrt`.
  return settings.verb !== 'jvp' && directions.length === 1 ? (directions[0] as Json) : directions;
}

/**
 * A direction that was typed, one part a differentiated parameter, once those are others: each part
 * stays with its name, that of a parameter gone goes, that of a new one is ones. `former` tells
 * what a parameter was called before.
 */
export function carried(
  settings: Settings, before: readonly string[], after: readonly string[], inputs: readonly Input[],
  former: (name: string) => string = (name) => name,
): string {
  const { verb, direction } = settings;
  if ((verb !== 'jvp' && verb !== 'hvp') || !direction.trim() || String(before) === String(after.map(former))) return direction;
  let given: Json;
  try {
    given = parseJson(direction);
  } catch {
    return direction;
  }
  // Vectors of one parameter stand without a list around them.
  const parts = verb === 'hvp' && before.length === 1 ? [given] : given;
  if (!Array.isArray(parts) || parts.length !== before.length || !after.length) return '';
  const next = after.map((name) => {
    const at = before.indexOf(former(name));
    const input = inputs.find((one) => one.name === name);
    return at >= 0 ? parts[at]! : onesLike(input ? shapeless(input) : 1);
  });
  return JSON.stringify(verb === 'hvp' && next.length === 1 ? next[0] : next);
}

/** The axis of a parameter that is mapped; null where none is. */
export function axisOf({ vmap }: Settings, name: string): number | null {
  return vmap && Object.hasOwn(vmap, name) ? (vmap[name] ?? null) : null;
}

/** What is mapped at first: the first axis of every parameter that has one. */
export function axesOf(inputs: readonly Input[]): Record<string, number> {
  const have = inputs.filter((input) => {
    if (input.kind === 'reference') return (input.reference?.shape.length ?? 0) > 0;
    if (outline(input) === UNREADABLE || input.kind === 'default') return false;
    const parts = leaves(read(wireOf(input)!));
    return parts.length > 0 && parts.every(({ value: part }) => part.kind === 'tensor' && part.shape.length > 0);
  });
  return Object.fromEntries(have.map(({ name }) => [name, 0]));
}

/** The body of `POST /v1/{verb}`: members at their defaults are left out. */
export function bodyOf(
  settings: Settings,
  inputs: readonly Input[],
  output: Json | null = null,
): Body {
  const body: Body = { function: settings.source, args: argumentsOf(inputs) };
  const { verb } = settings;
  if (TAKES_WRT.has(verb) && settings.wrt.length) {
    body.wrt = settings.wrt.length === 1 ? (settings.wrt[0] as string) : settings.wrt;
  }
  const member = DIRECTION.get(verb);
  if (member) body[member] = directionOf(settings, inputs, output);
  if (verb === 'jacobian' && settings.mode !== 'auto') body.mode = settings.mode;
  if ((verb === 'jacobian' || verb === 'hessian') && settings.sparse) body.sparse = true;
  if (settings.vmap) {
    body.vmap = { in_axes: inputs.map((input) => axisOf(settings, input.name)) };
  }
  if (settings.dtype !== 'float64') body.dtype = settings.dtype;
  if (settings.device) body.device = settings.device;
  if (settings.diagnose && verb !== 'check_grads') body.diagnose = true;
  return { ...body, ...settings.fields };
}
