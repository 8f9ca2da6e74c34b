import { describe, expect, it } from 'vitest';
import type { OpenApi } from './answers';
import { fieldsOf, verbsOf } from './fields';

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
