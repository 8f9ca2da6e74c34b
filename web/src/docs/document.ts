// The OpenAPI document as a list of operations, with an example body for each that takes one.

import type { OpenApi } from '../api/answers';
import type { Json } from '../api/json';

export interface Field {
  name: string;
  type: string;
  required: boolean;
  says: string;
  /** Of a parameter of a request, where it goes. */
  place?: string;
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

/** Bodies worth trying as they stand, of what is no verb: the document has those of verbs. */
const EXAMPLES: Record<string, Json> = {
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
      name: p.name, type: typeOf(p.schema), required: p.required ?? false, says: p.description ?? '', place: p.in,
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
