// What a link carries: the settings that are not their defaults, the inputs, the range of plots.
// A link is somebody else's text: what is not as this page writes it is refused, in words.

import type { Parameter } from '../api/answers';
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

/** The members of a link; it always has all of them. */
const MEMBERS = ['v', 'source', 'verb', 'settings', 'args', 'range'];

/** What a link held. Throws LinkError where it is no state of this page. */
export function readLink(state: Json): Linked {
  if (!isObject(state) || typeof state.source !== 'string') throw new LinkError('it holds no function');
  if (state.v !== 1) throw new LinkError('it was made by another version of this page');
  const { source, verb } = state;
  const odd = Object.keys(state).find((name) => !MEMBERS.includes(name)) ?? MEMBERS.find((name) => !(name in state));
  if (odd !== undefined) throw new LinkError(`${odd in state ? 'it has' : 'it lacks'} “${shown(odd)}”, which a link of this page ${odd in state ? 'never has' : 'always has'}`);
  if (typeof verb !== 'string' || !isKnown(verb)) throw new LinkError(`it asks for “${shown(verb)}”, which this page does not know`);
  const settings = { ...DEFAULTS, ...settingsOf(state.settings!), source, verb };
  const inputs = inputsOf(state.args!);
  const names = inputs.map(({ name }) => name);
  const stray = [...settings.wrt, ...Object.keys(settings.vmap ?? {})].find((name) => !names.includes(name));
  if (stray !== undefined) throw new LinkError(`its settings name “${shown(stray)}”, for which it has no argument`);
  return { settings, inputs, range: rangeOf(state.range!) };
}

/** Throw a LinkError where the arguments of a link are not those of its function. */
export function fitsParameters(inputs: readonly Input[], parameters: readonly Parameter[]): void {
  const names = new Map(parameters.map((parameter) => [parameter.name, parameter.default ?? false]));
  const extra = inputs.find(({ name }) => !names.has(name));
  if (extra) throw new LinkError(`it gives “${shown(extra.name)}”, which its function does not take`);
  const missing = parameters.find(({ name }) => !inputs.some((input) => input.name === name));
  if (missing) throw new LinkError(`it does not give “${shown(missing.name)}”, which its function takes`);
  const bare = inputs.find(({ name, kind }) => kind === 'default' && !names.get(name));
  if (bare) throw new LinkError(`it leaves “${shown(bare.name)}” to a default, and its function has none`);
}

/** Throw a LinkError where a link asks for what this server has not, and so the page does not show. */
export function fitsServer({ verb, device, fields }: Settings, server: Offers): void {
  const { devices } = server;
  if (device && devices.length && !devices.some(({ id }) => id === device)) throw new LinkError(`it asks for the device “${shown(device)}”, which this server has not`);
  const known = server.fields(verb).map(({ name }) => name);
  const odd = Object.keys(fields).find((name) => !server.isSolver(verb) || (known.length > 0 && !known.includes(name)));
  if (odd !== undefined) throw new LinkError(`its field “${shown(odd)}” is none of “${verb}”`);
}

/** What a server has, as far as links ask for it. */
export interface Offers {
  devices: readonly { id: string }[];
  fields: (verb: string) => { name: string }[];
  isSolver: (verb: string) => boolean;
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isFlag = (value: Json | undefined) => value === undefined || typeof value === 'boolean';
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
    if (!isObject(one) || !isName(one.n ?? null) || one.v === undefined || !isFlag(one.d)) throw new LinkError('its arguments cannot be read');
    const odd = Object.keys(one).find((key) => !['n', 'v', 'd'].includes(key));
    if (odd !== undefined) throw new LinkError(`its argument “${shown(one.n)}” has “${shown(odd)}”, which no link of this page has`);
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
  const [low, high]: number[] = Array.isArray(range) && range.length === 2 && range.every((end) => typeof end === 'number') ? range : [NaN, NaN];
  if (!isRange(low!, high!)) throw new LinkError('the range of its plots is none');
  return [low!, high!];
}
