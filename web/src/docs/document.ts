// The OpenAPI document as a list of operations, with an example body for each that takes one.

import type { OpenApi } from '../api/answers';
import type { Json } from '../api/json';

export interface Field {
  name: string;
  type: string;
  required: boolean;
  says: string;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string;
  parameters: Field[];
  fields: Field[];
  example: string;
  takesBody: boolean;
}

type Schema = { [key: string]: Json };

interface RawOperation {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { content?: Record<string, { schema?: Schema; example?: Json }> };
}

const METHODS = ['get', 'post', 'put', 'delete', 'patch'];

/** Calls worth trying as they stand. A solver's example is shown when the server lists it. */
const EXAMPLES: Record<string, Json> = {
  '/v1/evaluate': { function: 'x**2 + sin(y)', args: [3, 1] },
  '/v1/grad': { function: 'lambda x: x**2 + sin(x)', args: [3] },
  '/v1/value_and_grad': { function: 'lambda x: jnp.sum(x**2)', args: [[1, 2, 3]] },
  '/v1/jacobian': { function: 'lambda x: jnp.exp(x) / jnp.sum(jnp.exp(x))', args: [[1, 2, 3]] },
  '/v1/hessian': { function: 'lambda x: x[0]**2 * x[1]', args: [[1, 2]] },
  '/v1/jvp': { function: 'lambda x: jnp.sin(x)', args: [[0, 1]], tangents: [[1, 0]] },
  '/v1/vjp': { function: 'lambda x: jnp.sin(x)', args: [[0, 1]], cotangents: [1, 0] },
  '/v1/hvp': { function: 'lambda x: jnp.sum(x**3)', args: [[1, 2]], vectors: [1, 0] },
  '/v1/check_grads': { function: 'lambda x: jnp.sum(jnp.log1p(x**2))', args: [[1, 2]] },
  '/v1/abstract_eval': { function: 'lambda x: x @ x.T', args: [[[1, 2, 3]]] },
  '/v1/functions': { source: 'def f(x):\n    return jnp.tanh(x)' },
  '/v1/arrays': [[1, 2], [3, 4]],
  '/v1/programs': { verb: 'grad', function: 'lambda x: jnp.sum(x**2)', args: [{ shape: [1000], dtype: 'float64' }] },
  '/v1/programs/{name}': { args: [3] },
};

/** A schema in a few words. */
export function typeOf(schema: Schema | undefined): string {
  if (!schema) return 'any';
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? 'object';
  if (Array.isArray(schema.enum)) return schema.enum.map((item) => JSON.stringify(item)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const union = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(union)) return union.map((part) => typeOf(part as Schema)).join(' | ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items as Schema | undefined)}`;
  return typeof schema.type === 'string' ? schema.type : 'any';
}

function fieldsOf(schema: Schema | undefined): Field[] {
  const properties = (schema?.properties ?? {}) as Record<string, Schema>;
  const required = new Set((schema?.required ?? []) as string[]);
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeOf(property),
    required: required.has(name),
    says: [property.description, property.default === undefined || property.default === null ? '' : `Default ${JSON.stringify(property.default)}.`]
      .filter(Boolean).join(' '),
  }));
}

function exampleOf(path: string, example: Json | undefined): string {
  const found = example ?? EXAMPLES[path];
  return found === undefined ? '{}' : JSON.stringify(found, null, 2);
}

function operationOf(path: string, method: string, raw: RawOperation): Operation {
  const json = raw.requestBody?.content?.['application/json'];
  return {
    id: `${method}-${path.replace(/\W+/g, '-')}`,
    method: method.toUpperCase(),
    path,
    tag: raw.tags?.[0] ?? 'other',
    summary: raw.summary ?? '',
    description: raw.description ?? '',
    parameters: (raw.parameters ?? []).map((p) => ({
      name: p.name, type: typeOf(p.schema), required: p.required ?? false, says: p.description ?? '',
    })),
    fields: fieldsOf(json?.schema),
    example: exampleOf(path, json?.example),
    takesBody: method === 'post' || method === 'put' || method === 'patch',
  };
}

/** Every operation, grouped by tag in the document's order, verbs first. */
export function operations(document: OpenApi): [string, Operation[]][] {
  const groups = new Map<string, Operation[]>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      if (!(method in item)) continue;
      const operation = operationOf(path, method, item[method] as unknown as RawOperation);
      groups.set(operation.tag, [...(groups.get(operation.tag) ?? []), operation]);
    }
  }
  return [...groups].sort(([a], [b]) => Number(b === 'verbs') - Number(a === 'verbs'));
}
