// Values as they travel: numbers, nested lists, typed dense arrays, sparse matrices, references
// and trees of these; and their shape-and-data form, which is what cards and plots read.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A dense array: row-major data beside its shape. */
export interface Tensor {
  kind: 'tensor';
  dtype: string;
  shape: number[];
  data: ArrayLike<number>;
}

/** A sparse matrix, brought to coordinates for drawing. */
export interface Sparse {
  kind: 'sparse';
  layout: string;
  shape: number[];
  rows: ArrayLike<number>;
  columns: ArrayLike<number>;
  values: ArrayLike<number>;
}

/** A list or an object of values. */
export interface Branch {
  kind: 'branch';
  entries: [string, Value][];
  named: boolean;
}

/** Anything that is not numbers: a reference, a word. */
export interface Opaque {
  kind: 'opaque';
  text: string;
}

/** An array that the server kept, by its id. */
export interface Stored {
  kind: 'stored';
  id: string;
}

export type Value = Tensor | Sparse | Branch | Stored | Opaque;

const SPECIAL = new Map([['NaN', Number.NaN], ['Infinity', Infinity], ['-Infinity', -Infinity]]);

/** As deep as the server reads. */
const DEPTH = 64;
const WORDS = /"(?:[^"\\]|\\.)*"/g;
const NUMBERS = /-?\d[\d.eE+-]*/g;

/**
 * A value from JSON as somebody wrote it. Throws an Error that says what is wrong, numbers that
 * would be changed by being read included.
 */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(error instanceof RangeError ? TOO_DEEP : 'Not valid JSON yet.');
  }
  const bare = text.replace(WORDS, '""');
  if (depthOf(bare) > DEPTH) throw new Error(TOO_DEEP);
  // Bare numbers are floating point at the server too; typed integers are exact there.
  const exact = /"u?int64"/.test(text);
  for (const [number] of bare.matchAll(NUMBERS)) {
    if (!Number.isFinite(Number(number))) throw new Error(`${number.slice(0, 24)} is beyond what 64 bits hold: write "Infinity".`);
    if (exact && /^-?\d{16,}$/.test(number) && BigInt(number) !== BigInt(Number(number))) {
      throw new Error(`The page cannot hold ${number.slice(0, 24)} exactly: write these integers as base64.`);
    }
  }
  return value;
}

const TOO_DEEP = `Nested deeper than ${DEPTH} levels.`;

/** How many brackets of a text without words are open at most. */
function depthOf(text: string): number {
  let [open, most] = [0, 0];
  for (const char of text) {
    if (char === '[' || char === '{') most = Math.max(most, ++open);
    else if (char === ']' || char === '}') open--;
  }
  return most;
}

/** What is wrong with a text that should be JSON; empty where nothing is. */
export function whyNoJson(text: string): string {
  try {
    parseJson(text);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Read one number of the wire, the three special words included; null when it is not one. */
export function readNumber(item: Json): number | null {
  if (typeof item === 'number') return item;
  if (typeof item === 'boolean') return item ? 1 : 0;
  return typeof item === 'string' ? (SPECIAL.get(item) ?? null) : null;
}

/** Write a number so that JSON can carry it. */
export function writeNumber(value: number): number | string {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}

/** The shape of a nested list when it is rectangular and numeric; else null. */
function shapeOf(item: Json): number[] | null {
  const shape: number[] = [];
  let first: Json | undefined = item;
  for (; Array.isArray(first); first = first[0]) shape.push(first.length);
  return isOfShape(item, shape, 0) ? shape : null;
}

/** Whether every list below has the length its level asks for, and numbers stand at the bottom. */
function isOfShape(item: Json, shape: readonly number[], level: number): boolean {
  if (level === shape.length) return readNumber(item) !== null;
  return Array.isArray(item) && item.length === shape[level] && item.every((part) => isOfShape(part, shape, level + 1));
}

function firstIsBoolean(item: Json): boolean {
  return Array.isArray(item) ? item.length > 0 && firstIsBoolean(item[0] as Json) : typeof item === 'boolean';
}

function flatten(item: Json, into: number[]): void {
  if (Array.isArray(item)) for (const part of item) flatten(part, into);
  else into.push(readNumber(item) ?? Number.NaN);
}

/** Bytes of a number of each type, and how it is read, little-endian. */
const READERS = new Map<string, [number, (view: DataView, at: number) => number]>([
  ['float64', [8, (view, at) => view.getFloat64(at, true)]],
  ['float32', [4, (view, at) => view.getFloat32(at, true)]],
  ['int64', [8, (view, at) => Number(view.getBigInt64(at, true))]],
  ['int32', [4, (view, at) => view.getInt32(at, true)]],
  ['int16', [2, (view, at) => view.getInt16(at, true)]],
  ['int8', [1, (view, at) => view.getInt8(at)]],
  ['uint64', [8, (view, at) => Number(view.getBigUint64(at, true))]],
  ['uint32', [4, (view, at) => view.getUint32(at, true)]],
  ['uint16', [2, (view, at) => view.getUint16(at, true)]],
  ['uint8', [1, (view, at) => view.getUint8(at)]],
  ['bool', [1, (view, at) => view.getUint8(at)]],
]);

function fromBase64(text: string, dtype: string): Float64Array {
  const raw = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const reader = READERS.get(dtype);
  if (!reader) return new Float64Array(0);
  const [width, read] = reader;
  const view = new DataView(raw.buffer);
  return Float64Array.from({ length: Math.floor(raw.length / width) }, (_, i) => read(view, i * width));
}

function isObject(item: Json): item is { [key: string]: Json } {
  return typeof item === 'object' && item !== null && !Array.isArray(item);
}

function typed(item: { [key: string]: Json }): Tensor | null {
  if (typeof item.dtype !== 'string' || !Array.isArray(item.shape)) return null;
  const shape = item.shape.map(Number);
  if (typeof item.base64 === 'string') {
    const data = fromBase64(item.base64, item.dtype);
    return { kind: 'tensor', dtype: item.dtype, shape, data };
  }
  if (item.data === undefined) return null;
  const data: number[] = [];
  flatten(item.data, data);
  return { kind: 'tensor', dtype: item.dtype, shape, data };
}

function numbers(item: Json | undefined): ArrayLike<number> {
  const value = item === undefined ? null : read(item);
  return value?.kind === 'tensor' ? value.data : [];
}

/** Row (or column) of every entry, from a compressed pointer. */
function expand(pointer: ArrayLike<number>): Int32Array {
  const out = new Int32Array(pointer[pointer.length - 1] ?? 0);
  for (let i = 0; i + 1 < pointer.length; i++) out.fill(i, pointer[i], pointer[i + 1]);
  return out;
}

function sparse(item: { [key: string]: Json }): Sparse | null {
  if (typeof item.layout !== 'string' || !Array.isArray(item.shape)) return null;
  if (item.values === undefined) return null;
  const { layout } = item;
  const base = { kind: 'sparse' as const, layout, shape: item.shape.map(Number) };
  const values = numbers(item.values);
  if (layout === 'coo') {
    return { ...base, rows: numbers(item.row), columns: numbers(item.col), values };
  }
  const indices = numbers(item.indices);
  if (layout === 'bcoo') {
    const at = (offset: number) => Array.from(values, (_, i) => indices[2 * i + offset] ?? 0);
    return { ...base, rows: at(0), columns: at(1), values };
  }
  const expanded = expand(numbers(item.indptr));
  return layout === 'csc'
    ? { ...base, rows: indices, columns: expanded, values }
    : { ...base, rows: expanded, columns: indices, values };
}

/** Read any value of the wire. */
export function read(item: Json): Value {
  const shape = shapeOf(item);
  if (shape !== null) {
    const data: number[] = [];
    flatten(item, data);
    return { kind: 'tensor', dtype: firstIsBoolean(item) ? 'bool' : 'float', shape, data };
  }
  if (Array.isArray(item)) {
    const entries = item.map((part, i): [string, Value] => [String(i), read(part)]);
    return { kind: 'branch', entries, named: false };
  }
  if (isObject(item)) {
    const special = typed(item) ?? sparse(item);
    if (special) return special;
    if (typeof item.ref === 'string') return { kind: 'stored', id: item.ref };
    const entries = Object.entries(item).map(([k, part]): [string, Value] => [k, read(part)]);
    return { kind: 'branch', entries, named: true };
  }
  return { kind: 'opaque', text: String(item) };
}

/** Every array of a value with the path that leads to it, in order. */
export function leaves(value: Value, path = ''): { path: string; value: Tensor | Sparse | Stored | Opaque }[] {
  if (value.kind !== 'branch') return [{ path, value }];
  return value.entries.flatMap(([key, part]) =>
    leaves(part, value.named ? (path ? `${path}.${key}` : key) : `${path}[${key}]`),
  );
}

/** Shape and dtype as the language writes them: `f64[3,2]`. */
export function aval(dtype: string, shape: readonly number[]): string {
  const short = dtype
    .replace('bfloat', 'bf')
    .replace('float', 'f')
    .replace('complex', 'c')
    .replace('uint', 'u')
    .replace('int', 'i');
  return `${short}[${shape.join(',')}]`;
}
