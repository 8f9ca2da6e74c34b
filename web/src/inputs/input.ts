// What the user gives each parameter: a scalar with its slider's range, a vector, a matrix, a
// tree written as JSON, an uploaded array by reference, or nothing (the default of the source).

import type { ArrayInfo } from '../api/answers';
import { parseJson, whyNoJson, type Json } from '../api/json';
import { read, readNumber } from '../api/wire';

export type InputKind = 'scalar' | 'vector' | 'matrix' | 'tree' | 'reference' | 'default';

export interface Reference {
  id: string;
  label: string;
  dtype: string;
  shape: number[];
  layout: string;
  nse?: number;
}

export interface Input {
  name: string;
  kind: InputKind;
  scalar: number;
  low: number;
  high: number;
  vector: number[];
  matrix: number[][];
  tree: string;
  reference: Reference | null;
  hasDefault: boolean;
}

/** A number, a vector or a matrix, judged by how the source uses the name: a first guess only. */
export function guessKind(source: string, name: string): InputKind {
  const word = `(?<![\\w.])${name}\\b`;
  const has = (pattern: string) => new RegExp(pattern).test(source);
  if (has(`${word}\\s*@`) || has(`${word}\\.T\\b`) || has(`${word}\\[[^\\]]*,`)) return 'matrix';
  const reduces = '(sum|mean|prod|norm|dot|max|min|var|std|cumsum|cumprod|logsumexp|softmax|len)';
  if (has(`@\\s*${word}`) || has(`${word}\\[`) || has(`\\b${reduces}\\(\\s*${word}`)) return 'vector';
  return 'scalar';
}

/** A parameter nobody has filled in yet. */
export function emptyInput(name: string, hasDefault = false, source = ''): Input {
  return {
    name,
    kind: hasDefault ? 'default' : guessKind(source, name),
    scalar: 1,
    low: -5,
    high: 5,
    vector: [1, 2, 3],
    matrix: [[2, -1, 0], [-1, 2, -1], [0, -1, 2]],
    tree: '[1.0, 2.0]',
    reference: null,
    hasDefault,
  };
}

/** A slider range that holds the value with room around it, on round numbers. */
export function rangeFor(value: number): [number, number] {
  const reach = Math.min(Math.max(5, Math.abs(value) * 2), Number.MAX_VALUE);
  const unit = 10 ** Math.floor(Math.log10(reach));
  const high = Math.min(Math.ceil(reach / unit) * unit, Number.MAX_VALUE);
  return [value < 0 || reach <= 10 ? -high : 0, high];
}

/** As many numbers are shown in cells of their own; more are kept as one array. */
export const CELLS = 400;

const REFERENCE = /^arr_[0-9a-f]+$/;

/** The input that shows a value of the wire best. */
export function inputOf(name: string, value: Json, hasDefault = false): Input {
  const input = emptyInput(name, hasDefault);
  const number = typeof value === 'boolean' ? null : readNumber(value);
  if (number !== null) {
    const [low, high] = rangeFor(Number.isFinite(number) ? number : 1);
    return { ...input, kind: 'scalar', scalar: number, low, high };
  }
  if (Array.isArray(value)) {
    const tensor = read(value);
    if (tensor.kind === 'tensor' && tensor.dtype === 'float' && tensor.data.length <= CELLS) {
      const [rows, columns] = tensor.shape;
      if (tensor.shape.length === 1) return { ...input, kind: 'vector', vector: Array.from(tensor.data) };
      if (tensor.shape.length === 2 && rows && columns) {
        const matrix = (value as Json[][]).map((row) => row.map((item) => readNumber(item) ?? 0));
        return { ...input, kind: 'matrix', matrix };
      }
    }
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (typeof value.ref === 'string' && REFERENCE.test(value.ref)) {
      const reference = { id: value.ref, label: value.ref, dtype: '', shape: [], layout: '' };
      return { ...input, kind: 'reference', reference };
    }
  }
  return { ...input, kind: 'tree', tree: JSON.stringify(value) };
}

/** The input that stands for an uploaded array. */
export function referenceOf({ array, dtype = '', shape = [], layout = 'dense', nse }: ArrayInfo, label: string): Partial<Input> {
  return { kind: 'reference', reference: { id: array, label, dtype, shape, layout, ...(nse === undefined ? {} : { nse }) } };
}

/** What is sent for an input; undefined leaves the parameter to its default. */
export function wireOf(input: Input): Json | undefined {
  const word = (value: number): Json =>
    Number.isFinite(value) ? value : Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
  switch (input.kind) {
    case 'scalar':
      return word(input.scalar);
    case 'vector':
      return input.vector.map(word);
    case 'matrix':
      return input.matrix.map((row) => row.map(word));
    case 'tree':
      return parseJson(input.tree);
    case 'reference':
      return input.reference ? { ref: input.reference.id } : undefined;
    case 'default':
      return undefined;
  }
}

export const UNREADABLE = 'unreadable';

/** What tells the shape of an input; two inputs of one outline are traced alike. */
export function outline(input: Input): string {
  switch (input.kind) {
    case 'vector':
      return `vector ${input.vector.length}`;
    case 'matrix':
      return `matrix ${input.matrix.length} ${input.matrix[0]?.length ?? 0}`;
    case 'reference':
      return input.reference ? input.reference.id : UNREADABLE;
    case 'tree':
      return whyNoJson(input.tree) ? UNREADABLE : input.tree;
    default:
      return input.kind;
  }
}

/** An input in another form, with its value where that form holds it; else as if new. */
export function inForm(input: Input, kind: InputKind): Input {
  const fresh = { ...emptyInput(input.name, input.hasDefault), reference: input.reference, kind };
  const holds = (form: InputKind) => form !== 'reference' && form !== 'default';
  if (!holds(kind) || !holds(input.kind) || outline(input) === UNREADABLE) return fresh;
  const value = wireOf(input)!;
  if (kind === 'tree') return { ...fresh, tree: JSON.stringify(value) };
  const same = inputOf(input.name, value, input.hasDefault);
  if (same.kind === kind) return { ...same, reference: input.reference };
  if (kind === 'matrix' && same.kind === 'vector' && same.vector.length) return { ...fresh, matrix: [same.vector] };
  const isLine = same.kind === 'matrix' && (same.matrix.length === 1 || same.matrix[0]!.length === 1);
  return kind === 'vector' && isLine ? { ...fresh, vector: same.matrix.flat() } : fresh;
}

interface Named {
  name: string;
  default?: boolean;
}

/** The input before a parameter's own: of its name, or of the one that was renamed to it. */
export function formerInput(inputs: readonly Input[], parameters: readonly Named[], i: number, source = ''): Input | null {
  const { name } = parameters[i]!;
  const known = inputs.find((input) => input.name === name);
  if (known) return known;
  // A renamed parameter keeps its value: same position, same count, and both names new.
  const before = inputs[i];
  if (!before || inputs.length !== parameters.length || parameters.some((parameter) => parameter.name === before.name)) return null;
  const guess = guessKind(source, name);
  return guess === 'scalar' || guess === before.kind ? before : null;
}

/** Keep what the user typed for parameters that still exist; add the new, drop the gone. */
export function reconcile(inputs: readonly Input[], parameters: readonly Named[], source = ''): Input[] {
  return parameters.map(({ name, default: optional }, i) => {
    const before = formerInput(inputs, parameters, i, source);
    if (before?.name === name) return before;
    return before ? { ...before, name } : emptyInput(name, optional ?? false, source);
  });
}
