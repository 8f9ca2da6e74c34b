// What the parts of an answer are called: f, ∇f, ∂f/∂x.

import type { Role } from '../api/answers';
import type { Body } from '../session/request';
import type { Value } from '../api/wire';

export interface NamedPart {
  label: string;
  value: Value;
  role: Role;
}

const SYMBOLS = new Map([['evaluate', 'f'], ['grad', '∇f'], ['jacobian', 'J'], ['hessian', 'H'], ['hvp', 'H·v']]);

function branches(value: Value): Value[] | null {
  return value.kind === 'branch' ? value.entries.map(([, part]) => part) : null;
}

/** Split by `wrt` where several parameters were asked for. */
function split(verb: string, value: Value, body: Body, role: Role): NamedPart[] {
  const wrt = Array.isArray(body.wrt) ? body.wrt.map(String) : null;
  const list = branches(value) ?? (wrt && value.kind === 'tensor' && value.shape.length === 1 && value.shape[0] === wrt.length && !body.vmap
    ? Array.from(value.data, (item): Value => ({ kind: 'tensor', dtype: value.dtype, shape: [], data: [item] }))
    : null);
  if (wrt && list && list.length === wrt.length && verb !== 'hessian') {
    return wrt.map((name, i) => ({ label: `∂f/∂${name}`, value: list[i] as Value, role }));
  }
  return [{ label: SYMBOLS.get(verb) ?? '', value, role }];
}

/** Two members of an answer that is a pair, by name or by position. */
function pair(value: Value): [Value, Value] | null {
  if (value.kind === 'branch' && value.entries.length === 2) {
    const [first, second] = value.entries;
    if (first && second) return [first[1], second[1]];
  }
  if (value.kind === 'tensor' && value.shape[0] === 2 && value.shape.length === 1) {
    const scalar = (i: number): Value => ({ kind: 'tensor', dtype: value.dtype, shape: [], data: [value.data[i] as number] });
    return [scalar(0), scalar(1)];
  }
  return null;
}

/** The parts of an answer with their names, in order. */
export function named(verb: string, value: Value, body: Body): NamedPart[] {
  const both = pair(value);
  if (verb === 'value_and_grad' && both) {
    return [{ label: 'f', value: both[0], role: 'primal' }, ...split('grad', both[1], body, 'cotangent')];
  }
  if (verb === 'jvp' && both) {
    return [{ label: 'f', value: both[0], role: 'primal' }, { label: 'J·v', value: both[1], role: 'tangent' }];
  }
  if (verb === 'vjp' && both) {
    return [{ label: 'f', value: both[0], role: 'primal' }, { label: 'uᵀJ', value: both[1], role: 'cotangent' }];
  }
  // A solver's answer names its own members.
  if (value.kind === 'branch' && value.named && !SYMBOLS.has(verb)) {
    const shown = value.entries.filter(([name]) => name !== 'trace');
    return shown.map(([name, part]) => ({ label: name.replaceAll('_', ' '), value: part, role: 'primal' }));
  }
  if (verb === 'evaluate') return [{ label: 'f', value, role: 'primal' }];
  if (verb === 'hessian' || verb === 'hvp') return split(verb, value, body, 'tangent');
  return split(verb, value, body, 'cotangent');
}
