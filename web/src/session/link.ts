// What a link carries: the settings that are not their defaults, the inputs, the range of plots.
// A link is somebody else's text: what is not as this page writes it is refused, in words.

import { inputOf, wireOf, type Input } from '../inputs/input';
import { isRange } from '../inputs/ranges';
import { isKnown } from '../ui/verbs';
import { DEFAULTS, OWN, type Settings } from './request';
import { LinkError } from './share';
import type { Json } from '../api/json';

export interface Linked {
  settings: Settings;
  inputs: Input[];
  range: [number, number] | null;
}

/** More parameters than this have no place on a page. */
const MOST = 200;

export function write({ settings, inputs, range }: Linked): Json {
  const { source, verb } = settings;
  const rest = Object.entries(settings).filter(
    ([key, value]) =>
      JSON.stringify(value) !== JSON.stringify(DEFAULTS[key as keyof Settings]) &&
      key !== 'source' && key !== 'verb',
  );
  const args = inputs.map((input): Json => ({ n: input.name, v: wireOf(input) ?? null, d: input.kind === 'default' }));
  return { v: 1, source, verb, settings: Object.fromEntries(rest) as Json, args, range };
}

/** What a link held; null when there was none. Throws LinkError where it is no state of this page. */
export function readLink(state: Json): Linked | null {
  if (state === null) return null;
  if (!isObject(state) || typeof state.source !== 'string') throw new LinkError('it holds no function');
  if (state.v !== 1) throw new LinkError('it was made by another version of this page');
  const { source, verb } = state;
  if (typeof verb !== 'string' || !isKnown(verb)) throw new LinkError(`it asks for “${shown(verb)}”, which this page does not know`);
  return {
    settings: { ...DEFAULTS, ...settingsOf(state.settings ?? {}), source, verb },
    inputs: inputsOf(state.args ?? []),
    range: rangeOf(state.range ?? null),
  };
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isName = (value: Json): value is string => typeof value === 'string' && value !== '';
const areUnique = (names: readonly Json[]) => new Set(names).size === names.length;
const isAxis = (value: Json) => value === null || (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2);
const shown = (value: Json | undefined) => String(value).slice(0, 40);

/** What each setting may be; `source` and `verb` have their own place. */
const FITS = new Map<string, (value: Json) => boolean>([
  ['wrt', (value) => Array.isArray(value) && value.every(isName) && areUnique(value)],
  ['vmap', (value) => isObject(value) && Object.values(value).every(isAxis)],
  ['dtype', (value) => value === 'float64' || value === 'float32'],
  ['device', (value) => typeof value === 'string'],
  ['diagnose', (value) => typeof value === 'boolean'],
  ['mode', (value) => value === 'auto' || value === 'forward' || value === 'reverse'],
  ['sparse', (value) => typeof value === 'boolean'],
  ['direction', (value) => typeof value === 'string'],
  ['fields', (value) => isObject(value) && !Object.keys(value).some((name) => OWN.has(name))],
]);

function settingsOf(given: Json): Partial<Settings> {
  if (!isObject(given)) throw new LinkError('its settings cannot be read');
  for (const [name, value] of Object.entries(given)) {
    if (!FITS.get(name)?.(value)) throw new LinkError(`its setting “${shown(name)}” is none of this page`);
  }
  return given as Partial<Settings>;
}

function inputsOf(args: Json): Input[] {
  if (!Array.isArray(args) || args.length > MOST) throw new LinkError('its arguments cannot be read');
  const inputs = args.map((one) => {
    if (!isObject(one) || !isName(one.n ?? null) || one.v === undefined) throw new LinkError('its arguments cannot be read');
    const [name, value] = [one.n as string, one.v];
    return one.d === true ? { ...inputOf(name, 1, true), kind: 'default' as const } : inputOf(name, value);
  });
  const names = inputs.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new LinkError(`it gives “${shown(twice)}” twice`);
  return inputs;
}

function rangeOf(range: Json): [number, number] | null {
  if (range === null) return null;
  const [low, high] = Array.isArray(range) && range.length === 2 ? range.map(Number) : [NaN, NaN];
  if (!isRange(low!, high!)) throw new LinkError('the range of its plots is none');
  return [low!, high!];
}
