// What a link carries: the settings that are not their defaults, the inputs, the range of plots.

import { inputOf, wireOf, type Input } from '../inputs/input';
import { DEFAULTS, type Settings } from './request';
import type { Json } from '../api/wire';

export interface Linked {
  settings: Settings;
  inputs: Input[];
  range: [number, number] | null;
}

export function write({ settings, inputs, range }: Linked): Json {
  const { source, verb } = settings;
  const rest = Object.entries(settings).filter(
    ([key, value]) =>
      JSON.stringify(value) !== JSON.stringify(DEFAULTS[key as keyof Settings]) &&
      key !== 'source' && key !== 'verb',
  );
  const args = inputs.map((input): Json => ({ n: input.name, v: valueOf(input) ?? null, d: input.kind === 'default' }));
  return { v: 1, source, verb, settings: Object.fromEntries(rest) as Json, args, range };
}

/** A value that is not readable yet travels as it was typed. */
function valueOf(input: Input): Json | undefined {
  try {
    return wireOf(input);
  } catch {
    return input.tree;
  }
}

/** What a link held; null when that was no state of this page. */
export function readLink(state: Json): Linked | null {
  if (typeof state !== 'object' || state === null || Array.isArray(state)) return null;
  const { source, verb, settings: given, range } = state;
  if (typeof source !== 'string' || typeof verb !== 'string') return null;
  const own = typeof given === 'object' && given !== null ? given : {};
  const known = Object.entries(own).filter(([key, value]) => fits(value, DEFAULTS[key as keyof Settings]));
  const args = (Array.isArray(state.args) ? state.args : []) as { n: string; v: Json; d?: boolean }[];
  return {
    settings: { ...DEFAULTS, ...Object.fromEntries(known), source, verb },
    inputs: args.map(({ n, v, d }) =>
      d ? { ...inputOf(String(n), 1, true), kind: 'default' as const } : inputOf(String(n), v),
    ),
    range: Array.isArray(range) ? [Number(range[0]), Number(range[1])] : null,
  };
}

/** A setting of another type than the page's own would break it. */
function fits(value: Json, standard: unknown): boolean {
  if (standard === undefined) return false;
  if (standard === null) return typeof value === 'object' && !Array.isArray(value);
  return typeof value === typeof standard && Array.isArray(value) === Array.isArray(standard) && value !== null;
}
