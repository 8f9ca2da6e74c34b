// The fields of a verb as the server's document describes them: what a form needs to ask for each.

import type { OpenApi } from './answers';
import type { Json } from './json';

export interface Field {
  name: string;
  /** `json` is any value of a schema that no other kind fits, `any` one without a type. */
  kind: 'choice' | 'flag' | 'number' | 'numbers' | 'text' | 'json' | 'any';
  /** Of a choice, every value; of a text, values that are known to work. */
  choices: string[];
  required: boolean;
  help: string;
}

type Schema = { [key: string]: Json };

/** Nouns of the API that also take a POST under /v1. */
const NOUNS = new Set(['functions', 'arrays', 'programs', 'runs', 'models', 'sessions']);

export function verbsOf(document: OpenApi): string[] {
  return Object.entries(document.paths).flatMap(([path, operations]) => {
    const name = /^\/v1\/([a-z_]+)$/.exec(path)?.[1];
    return name && 'post' in operations && !NOUNS.has(name) ? [name] : [];
  });
}

function isSchema(item: Json | undefined): item is Schema {
  return typeof item === 'object' && item !== null && !Array.isArray(item);
}

/** The schema a reference stands for. */
function resolved(document: OpenApi, schema: Schema): Schema {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined;
  const found = name === undefined ? undefined : document.components?.schemas?.[name];
  return isSchema(found) ? found : schema;
}

/** What a value may be, null left out. */
function alternatives(document: OpenApi, schema: Schema): Schema[] {
  const any = schema.anyOf ?? schema.oneOf;
  const all = Array.isArray(any) ? any.filter(isSchema).map((one) => resolved(document, one)) : [resolved(document, schema)];
  return all.filter((one) => one.type !== 'null');
}

const words = (list: Json | undefined): string[] => (Array.isArray(list) ? list.map(String) : []);

function kindOf(options: Schema[]): Field['kind'] {
  const only = options.length === 1 ? options[0] : undefined;
  if (only && !only.type && !only.enum) return 'any';
  if (only?.enum) return 'choice';
  if (only?.type === 'boolean') return 'flag';
  if (only?.type === 'number' || only?.type === 'integer') return 'number';
  if (only?.type === 'string') return 'text';
  const items = only?.type === 'array' && isSchema(only.items) ? only.items : null;
  return items?.type === 'number' ? 'numbers' : 'json';
}

/** Every field of a verb's body, in the document's order. */
export function fieldsOf(document: OpenApi, verb: string): Field[] {
  const operation = document.paths[`/v1/${verb}`]?.post as
    | { requestBody?: { content?: Record<string, { schema?: Schema }> } }
    | undefined;
  const body = operation?.requestBody?.content?.['application/json']?.schema;
  if (!body) return [];
  const { properties, required } = resolved(document, body);
  if (!isSchema(properties)) return [];
  return Object.entries(properties).flatMap(([name, schema]): Field[] => {
    if (!isSchema(schema)) return [];
    const options = alternatives(document, schema);
    const choices = words(options.find((one) => one.enum)?.enum ?? schema.examples);
    const help = typeof schema.description === 'string' ? schema.description : '';
    return [{ name, kind: kindOf(options), choices, required: words(required).includes(name), help }];
  });
}
