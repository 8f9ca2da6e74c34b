// Which plots a function admits, and the calls that fill them.

import { api } from '../api/client';
import type { Input } from '../inputs/input';
import { wireOf } from '../inputs/input';
import type { Body } from '../session/request';
import type { Json } from '../api/json';
import { read } from '../api/wire';

/** True when the output is one real number, of which there are derivatives. */
export function isScalar(output: Json | null): boolean {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return false;
  return Array.isArray(output.shape) && output.shape.length === 0 && /^b?float/.test(String(output.dtype));
}

/** Parameters a curve can be drawn over: scalars, when the output is one too. */
export function curveOf(inputs: readonly Input[], output: Json | null): string[] {
  if (!isScalar(output)) return [];
  return inputs.filter((input) => input.kind === 'scalar').map((input) => input.name);
}

/** The plane of a contour: two scalars, or one vector of two. */
export type ContourPlan = { kind: 'scalars'; names: [string, string] } | { kind: 'vector'; names: [string, string]; name: string };

export function contourOf(inputs: readonly Input[], output: Json | null): ContourPlan | null {
  if (!isScalar(output)) return null;
  const scalars = inputs.filter((input) => input.kind === 'scalar').map((input) => input.name);
  const others = inputs.filter((input) => input.kind !== 'scalar');
  if (scalars.length === 2 && others.length === 0) return { kind: 'scalars', names: scalars as [string, string] };
  const only = inputs[0];
  if (inputs.length === 1 && only?.kind === 'vector' && only.vector.length === 2) {
    return { kind: 'vector', name: only.name, names: [`${only.name}[0]`, `${only.name}[1]`] };
  }
  return null;
}

/** Replace some arguments by columns of points and map over them. */
function mapped(body: Body, inputs: readonly Input[], columns: ReadonlyMap<string, Json>): Body {
  const given = inputs.flatMap(({ name, ...input }): [string, Json][] => {
    const value = columns.get(name) ?? wireOf({ name, ...input });
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...body,
    args: given.length === inputs.length ? given.map(([, value]) => value) : Object.fromEntries(given),
    vmap: { in_axes: given.map(([name]) => (columns.has(name) ? 0 : null)) },
  };
}

async function numbersOf(verb: string, body: Body, signal: AbortSignal): Promise<number[][]> {
  const { body: answer } = await api.call(verb, body, signal);
  const value = read(answer.result);
  const flat = value.kind === 'branch' ? value.entries.map(([, part]) => part) : [value];
  return flat.map((part) => (part.kind === 'tensor' ? Array.from(part.data) : []));
}

/** f and its first derivatives in one parameter, over points. */
export async function sweep(
  base: Body, inputs: readonly Input[], name: string, points: number[], orders: readonly number[], signal: AbortSignal,
): Promise<number[][]> {
  const verbs = ['evaluate', 'grad', 'hessian'];
  const { wrt: _, ...rest } = base;
  return Promise.all(
    orders.map(async (order) => {
      const body = mapped(order ? { ...rest, wrt: name } : rest, inputs, new Map([[name, points]]));
      return (await numbersOf(verbs[order] ?? 'evaluate', body, signal))[0] ?? [];
    }),
  );
}

/** Values on a grid of `side` by `side`, and gradients on a coarser one. */
export interface FieldSample {
  side: number;
  values: number[];
  arrows: [number, number][];
}

/** f over a grid (row-major, y outermost) and its gradient over a coarser one. */
export async function sampleField(
  base: Body, inputs: readonly Input[], plan: ContourPlan, fine: number[], coarse: number[], signal: AbortSignal,
): Promise<FieldSample> {
  const { wrt: _, ...rest } = base;
  const columns = (ticks: number[]): ReadonlyMap<string, Json> => {
    const pairs = ticks.flatMap((v) => ticks.map((u) => [u, v]));
    if (plan.kind === 'vector') return new Map([[plan.name, pairs]]);
    return new Map([[plan.names[0], pairs.map(([u]) => u as number)], [plan.names[1], pairs.map(([, v]) => v as number)]]);
  };
  const wrt: Json = plan.kind === 'vector' ? plan.name : plan.names;
  const [values, slopes] = await Promise.all([
    numbersOf('evaluate', mapped(rest, inputs, columns(fine)), signal),
    numbersOf('grad', mapped({ ...rest, wrt }, inputs, columns(coarse)), signal),
  ]);
  return { side: fine.length, values: values[0] ?? [], arrows: arrowsOf(slopes.flat(), plan) };
}

/** Pairs from a gradient: of two scalars all of one, then all of the other; of a vector, in turn. */
export function arrowsOf(slopes: number[], plan: ContourPlan): [number, number][] {
  const n = slopes.length / 2;
  const at = (i: number) => slopes[i] ?? 0;
  return Array.from({ length: n }, (_, i) => (plan.kind === 'scalars' ? [at(i), at(n + i)] : [at(2 * i), at(2 * i + 1)]));
}
