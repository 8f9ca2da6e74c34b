import { describe, expect, it } from 'vitest';
import { parseAnswer, type Json } from './json';
import { aval, leaves, read, readNumber } from './wire';

describe('read', () => {
  it('takes nested lists as arrays, the special words included', () => {
    const value = read([[1, 'NaN'], ['Infinity', '-Infinity']]);
    expect(value).toMatchObject({ kind: 'tensor', shape: [2, 2] });
    expect(value.kind === 'tensor' && Array.from(value.data)).toEqual([1, NaN, Infinity, -Infinity]);
  });

  it('keeps ragged lists and objects as trees, with the path of every leaf', () => {
    const value = read({ layers: [{ w: [[1]], b: 2 }, { w: [3, 4], b: 5 }] });
    expect(leaves(value).map(({ path }) => path)).toEqual(['layers[0].w', 'layers[0].b', 'layers[1].w', 'layers[1].b']);
  });

  it('reads typed arrays from lists and from base64', () => {
    const bytes = new Uint8Array(new Float32Array([1.5, -2]).buffer);
    const base64 = btoa(String.fromCharCode(...bytes));
    for (const extra of [{ data: [1.5, -2] }, { base64 }]) {
      const value = read({ dtype: 'float32', shape: [2], ...extra });
      expect(value.kind === 'tensor' && Array.from(value.data)).toEqual([1.5, -2]);
    }
  });

  it('brings csr, csc, coo and bcoo to the same coordinates', () => {
    const shape = [2, 3];
    const forms = [
      { layout: 'csr', shape, indptr: [0, 1, 3], indices: [2, 0, 1], values: [5, 6, 7] },
      { layout: 'csc', shape, indptr: [0, 1, 2, 3], indices: [1, 1, 0], values: [6, 7, 5] },
      { layout: 'coo', shape, row: [0, 1, 1], col: [2, 0, 1], values: [5, 6, 7] },
      { layout: 'bcoo', shape, indices: [[0, 2], [1, 0], [1, 1]], values: [5, 6, 7] },
    ];
    for (const form of forms) {
      const value = read(form);
      if (value.kind !== 'sparse') throw new Error(form.layout);
      const cells = Array.from(value.values, (v, k) => `${value.rows[k]},${value.columns[k]}=${v}`);
      expect(cells.sort()).toEqual(['0,2=5', '1,0=6', '1,1=7']);
    }
  });

  it('tells booleans from numbers', () => {
    expect(read([true, false])).toMatchObject({ dtype: 'bool' });
    expect(readNumber('word')).toBeNull();
  });
});

it('writes abstract values as the language does', () => {
  expect(aval('float64', [3, 2])).toBe('f64[3,2]');
  expect(aval('uint8', [])).toBe('u8[]');
  expect(aval('bfloat16', [1])).toBe('bf16[1]');
});

it('reads deep lists in one pass, and words that objects have as words', () => {
  const deep = (depth: number): Json => (depth ? [deep(depth - 1)] : 1);
  expect(read(deep(60))).toMatchObject({ kind: 'tensor', shape: Array.from({ length: 60 }, () => 1) });
  expect(read([[1], [[2]]])).toMatchObject({ kind: 'branch' });
  expect(read([[], []])).toMatchObject({ kind: 'tensor', shape: [2, 0] });
  for (const word of ['constructor', '__proto__', 'toString']) expect(readNumber(word)).toBeNull();
  expect(read({ dtype: 'constructor', shape: [1], base64: 'AAAA' })).toMatchObject({ kind: 'branch' });
});

it('shows both parts of complex numbers', () => {
  const value = read({ dtype: 'complex128', shape: [2], data: [1, 2, 3, 4] });
  expect(leaves(value).map(({ path, value: part }) => [path, part.kind === 'tensor' && [...Array.from(part.data)]])).toEqual([
    ['real part', [1, 3]], ['imaginary part', [2, 4]],
  ]);
});

it('takes for an array, or a matrix, only what is one', () => {
  const csr = { layout: 'csr', shape: [2, 2], indptr: [0, 1, 2], indices: [0, 1], values: [1, 2] };
  const wrong: Json[] = [
    { dtype: 'float64', shape: [1e9, 1e9], data: [1] }, { dtype: 'float64', shape: [-1], data: [1] }, { dtype: 'complex128', shape: [1], data: [1] },
    { ...csr, indptr: [0, 5, 1e9] }, { ...csr, indptr: [0, 2, 1] }, { ...csr, indptr: [0, 2] }, { ...csr, indices: [0, 7] }, { ...csr, shape: [-1, 3] },
    { layout: 'coo', shape: [1e300, 2], row: [0], col: [0], values: [1] }, { layout: 'coo', shape: [2, 2], row: 'q', col: [], values: [1] },
    { layout: 'bcoo', shape: [2, 2], indices: [[0]], values: [1] },
  ];
  expect(read(csr)).toMatchObject({ kind: 'sparse' });
  for (const one of wrong) expect(read(one).kind, JSON.stringify(one)).toBe('branch');
});

it('holds integers beyond 2^53 exactly, from a list and from base64', () => {
  const bits = (numbers: bigint[]) => btoa(String.fromCharCode(...new Uint8Array(new BigUint64Array(numbers).buffer)));
  const digits = (text: string) => {
    const value = read(parseAnswer(text) as Json);
    return value.kind === 'tensor' ? value.exact?.map(String) : null;
  };
  expect(digits('{"dtype":"int64","shape":[],"data":[9007199254740993]}')).toEqual(['9007199254740993']);
  expect(digits('{"dtype":"int64","shape":[2],"data":[-9007199254740993,7]}')).toEqual(['-9007199254740993', '7']);
  expect(digits(`{"dtype":"uint64","shape":[1],"base64":"${bits([18446744073709551615n])}"}`)).toEqual(['18446744073709551615']);
  expect(digits('{"dtype":"int64","shape":[1],"data":[9007199254740991]}')).toBeUndefined();
});
