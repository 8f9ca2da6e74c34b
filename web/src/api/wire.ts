// Values as they travel: numbers, nested lists, typed dense arrays, sparse matrices, references
// and trees of these; and their shape-and-data form, which is what cards and plots read.

import type { Json } from './json';

/** A dense array: row-major data beside its shape. */
export interface Tensor {
  kind: 'tensor';
  dtype: string;
  shape: number[];
  data: ArrayLike<number>;
  /** The same integers where a double does not hold all of them. */
  exact?: readonly bigint[];
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

/** An integer that a double does not hold, as answers are read. */
const INTEGER = /^-?\d{16,}$/;

/** Read one number of the wire, the three special words included; null when it is not one. */
export function readNumber(item: Json): number | null {
  if (typeof item === 'number') return item;
  if (typeof item === 'boolean') return item ? 1 : 0;
  if (typeof item !== 'string') return null;
  return SPECIAL.get(item) ?? (INTEGER.test(item) ? Number(item) : null);
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

/** The integers of 64 bits behind some numbers; null where those hold them. */
function exactly({ dtype, data, base64 }: { [key: string]: Json }, near: ArrayLike<number>): bigint[] | null {
  if ((dtype !== 'int64' && dtype !== 'uint64') || Array.prototype.every.call(near, Number.isSafeInteger)) return null;
  if (typeof base64 !== 'string') {
    const digits: bigint[] = [];
    const collect = (item: Json | undefined): void => {
      if (Array.isArray(item)) item.forEach(collect);
      else digits.push(BigInt(item as string | number));
    };
    collect(data);
    return digits;
  }
  const { buffer } = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return [...(dtype === 'int64' ? new BigInt64Array(buffer) : new BigUint64Array(buffer))];
}

/** A dense array; a complex one as its two parts. */
function typed(item: { [key: string]: Json }): Tensor | Branch | null {
  const shape = sizes(item.shape);
  if (typeof item.dtype !== 'string' || !shape) return null;
  const data = typeof item.base64 === 'string' ? fromBase64(item.base64, item.dtype) : numbers(item.data);
  const { dtype } = item;
  const size = shape.reduce((a, b) => a * b, 1);
  if (!dtype.startsWith('complex')) {
    if (data.length !== size) return null;
    const exact = exactly(item, data);
    return { kind: 'tensor', dtype, shape, data, ...(exact ? { exact } : {}) };
  }
  if (data.length !== 2 * size) return null;
  const part = (offset: number): Tensor => ({
    kind: 'tensor', dtype: dtype === 'complex64' ? 'float32' : 'float64', shape, data: Float64Array.from({ length: size }, (_, i) => data[2 * i + offset]!),
  });
  return { kind: 'branch', named: true, entries: [['real part', part(0)], ['imaginary part', part(1)]] };
}

/** A shape, where it is one. */
function sizes(item: Json | undefined): number[] | null {
  if (!Array.isArray(item)) return null;
  return item.every((n) => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0) ? (item as number[]) : null;
}

function numbers(item: Json | undefined): ArrayLike<number> {
  const value = item === undefined ? null : read(item);
  return value?.kind === 'tensor' ? value.data : [];
}

/** Whether every index is a place along an axis. */
function areIn(indices: ArrayLike<number>, size: number): boolean {
  for (let k = 0; k < indices.length; k++) if (!(indices[k]! >= 0 && indices[k]! < size)) return false;
  return true;
}

/** Row (or column) of each of `count` entries, from a compressed pointer; null where it is none. */
function expand(pointer: ArrayLike<number>, count: number): Int32Array | null {
  if (pointer[0] !== 0 || pointer[pointer.length - 1] !== count) return null;
  const out = new Int32Array(count);
  for (let i = 0; i + 1 < pointer.length; i++) {
    if (pointer[i]! > pointer[i + 1]!) return null;
    out.fill(i, pointer[i], pointer[i + 1]);
  }
  return out;
}

/** Rows and columns of the entries of a matrix, as its layout keeps them; null where it does not. */
function placesOf(item: { [key: string]: Json }, shape: readonly number[], count: number): [ArrayLike<number>, ArrayLike<number>] | null {
  if (item.layout === 'coo') return [numbers(item.row), numbers(item.col)];
  const indices = numbers(item.indices);
  if (item.layout === 'bcoo') {
    const at = (offset: number) => Array.from({ length: count }, (_, i) => indices[2 * i + offset] ?? NaN);
    return [at(0), at(1)];
  }
  const pointer = numbers(item.indptr);
  const expanded = pointer.length === shape[item.layout === 'csc' ? 1 : 0]! + 1 ? expand(pointer, count) : null;
  if (!expanded) return null;
  return item.layout === 'csc' ? [indices, expanded] : [expanded, indices];
}

function sparse(item: { [key: string]: Json }): Sparse | null {
  const shape = sizes(item.shape);
  if (typeof item.layout !== 'string' || shape?.length !== 2) return null;
  const values = numbers(item.values);
  const places = placesOf(item, shape, values.length);
  if (!places) return null;
  const [rows, columns] = places;
  const fits = rows.length === values.length && columns.length === values.length && areIn(rows, shape[0]!) && areIn(columns, shape[1]!);
  return fits ? { kind: 'sparse', layout: item.layout, shape, rows, columns, values } : null;
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
