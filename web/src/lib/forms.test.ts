import { describe, expect, it } from 'vitest';
import { fieldsOf, verbsOf } from './fields';
import { outline, inputOf, UNREADABLE } from './inputs';
import { evenly, parseNumbers, writeNumbers } from './ranges';
import type { OpenApi } from '../api/answers';

const nullable = (...schemas: object[]) => ({ anyOf: [...schemas, { type: 'null' }] });
const properties = {
  method: { ...nullable({ type: 'string' }), examples: ['auto', 'newton'] },
  which: nullable({ type: 'string', enum: ['largest', 'smallest'] }),
  tol: nullable({ type: 'number' }),
  t1: { type: 'number', description: 'the end' },
  trace: nullable({ type: 'boolean' }),
  ts: nullable({ type: 'array', items: { type: 'number' } }),
  t0: { description: 'a number', default: 0 },
  bounds: nullable({ type: 'array', items: {} }, { type: 'object' }),
};
const schema = { properties, required: ['t1'] };
const document = {
  info: { title: '', version: '' },
  paths: {
    '/v1/ode': { post: { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Ode' } } } } } },
    '/v1/arrays': { post: {} },
    '/v1/devices': { get: {} },
  },
  components: { schemas: { Ode: schema } },
} as unknown as OpenApi;

describe('the server’s document', () => {
  it('lists verbs, without the nouns that take a POST too', () => {
    expect(verbsOf(document)).toEqual(['ode']);
  });

  it('tells how each field is asked for', () => {
    const fields = fieldsOf(document, 'ode');
    expect(fields.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'method text', 'which choice', 'tol number', 't1 number', 'trace flag', 'ts numbers', 't0 any', 'bounds json',
    ]);
    expect(fields[0]!.choices).toEqual(['auto', 'newton']);
    expect(fields[1]!.choices).toEqual(['largest', 'smallest']);
    expect(fields.filter(({ required }) => required)).toMatchObject([{ name: 't1', help: 'the end' }]);
    expect(fieldsOf(document, 'fit')).toEqual([]);
  });
});

describe('lists of numbers', () => {
  it('are read from a range and written as one', () => {
    expect(parseNumbers('0:1:5')).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(parseNumbers('[1, 2.5]')).toEqual([1, 2.5]);
    expect(parseNumbers('{"equality": "h"}')).toEqual({ equality: 'h' });
    for (const text of ['0:10:201', '-1:0.3:7', '[0,1,5]', '[0.5,1]']) expect(writeNumbers(parseNumbers(text))).toBe(text);
    expect(writeNumbers(undefined)).toBe('');
    expect(evenly([0, 1, 2.1, 3])).toBeNull();
  });

  it('refuse what is no range', () => {
    for (const text of ['1:2', '0:1:1', '0:1:2.5', 'a:1:3', '0:1:1e9', '::']) expect(() => parseNumbers(text)).toThrow('start:end:count');
  });
});

it('tells inputs of another shape apart, not of another value', () => {
  expect(outline(inputOf('x', [1, 2]))).toBe(outline(inputOf('x', [3, 4])));
  expect(outline(inputOf('x', [1, 2]))).not.toBe(outline(inputOf('x', [1, 2, 3])));
  expect(outline(inputOf('x', 2))).not.toBe(outline(inputOf('x', [2])));
  expect(outline({ ...inputOf('x', 1), kind: 'tree', tree: '[1,' })).toBe(UNREADABLE);
});
