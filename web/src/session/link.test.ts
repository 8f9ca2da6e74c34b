import { describe, expect, it } from 'vitest';
import { inputOf, wireOf } from '../inputs/input';
import type { Json } from '../api/json';
import { fitsParameters, fitsServer, readLink, write } from './link';
import { DEFAULTS } from './request';

const state: { [key: string]: Json } = { v: 1, source: 'x * y', verb: 'grad', settings: {}, args: [{ n: 'x', v: 1, d: false }], range: [-5, 5] };
const refusal = (patch: { [key: string]: Json }) => {
  try {
    readLink({ ...state, ...patch });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('a link', () => {
  it('gives back what was written', () => {
    const settings = { ...DEFAULTS, source: 'x @ y', verb: 'jvp', wrt: ['x'], vmap: { x: 0, y: null }, direction: '[1]', dtype: 'float32' as const };
    const inputs = [inputOf('x', [1, 'NaN']), inputOf('y', [[1, 2], [3, 4]]), { ...inputOf('k', 1, true), kind: 'default' as const }];
    const back = readLink(JSON.parse(JSON.stringify(write({ settings, inputs, range: [-1, 2] }))) as Json);
    expect(back.settings).toEqual(settings);
    expect(back.inputs.map(wireOf)).toEqual([[1, 'NaN'], [[1, 2], [3, 4]], undefined]);
    expect(back.range).toEqual([-1, 2]);
  });

  it('that names an argument twice is refused', () => {
    expect(refusal({ args: [{ n: 'x', v: 1 }, { n: 'y', v: 1 }, { n: 'x', v: 2 }] })).toBe('it gives “x” twice');
  });

  it('that asks for no verb of this page is refused', () => {
    for (const verb of ['__proto__', 'constructor', 'toString', 'check_grads', '', 'Grad', null, ['grad']]) {
      expect(refusal({ verb }), String(verb)).toContain('does not know');
    }
  });

  it('with settings that are none is refused, and told of by their name', () => {
    const wrong: [string, Json][] = [
      ['wrt', ['x', 'x']], ['wrt', [1]], ['wrt', 'x'], ['vmap', { x: 'a' }], ['vmap', []], ['vmap', { x: -1 }], ['dtype', 'float16'],
      ['mode', 'sideways'], ['diagnose', 1], ['direction', {}], ['fields', [1]], ['fields', null], ['fields', { function: 'y' }], ['constructor', 1], ['source', 'y'],
    ];
    for (const [name, value] of wrong) expect(refusal({ settings: { [name]: value } }), name).toContain(`“${name}”`);
    expect(refusal({ settings: JSON.parse('{"__proto__": {"wrt": 1}}') as Json })).toContain('“__proto__”');
  });

  it('with anything else that would break the page is refused', () => {
    const wrong: { [key: string]: Json }[] = [
      { v: 2 }, { source: 3 }, { settings: 'x' }, { args: {} }, { args: [3] }, { args: [{ n: '', v: 1 }] }, { args: [{ v: 1 }] },
      { args: [{ n: 'x' }] }, { args: Array.from({ length: 201 }, (_, i) => ({ n: `x${i}`, v: 1 })) },
      { range: [-1e308, 1e308] }, { range: [1, 1] }, { range: [2, 1] }, { range: [0] }, { range: ['a', 1] }, { range: [null, 1] }, { range: ['0', 1] }, { range: [false, 1] }, { args: [{ n: 'x', v: 1, d: 1 }] }, { args: [{ n: 'x', v: 1, slider: [0, 1] }] }, { range: [1e16, 1e16 + 2] },
    ];
    for (const patch of wrong) expect(refusal(patch), JSON.stringify(patch).slice(0, 80)).not.toBe('');
    for (const other of [null, [], 'x', 3, { v: 1 }] as Json[]) expect(() => readLink(other)).toThrow('no function');
  });

  it('has every member that this page writes, and no other', () => {
    expect(refusal({ run: true })).toContain('it has “run”');
    for (const name of ['settings', 'args', 'range', 'verb']) {
      const { [name]: _, ...rest } = state;
      expect(() => readLink(rest), name).toThrow(`it lacks “${name}”`);
    }
  });

  it('names no parameter that it does not give', () => {
    expect(refusal({ settings: { wrt: ['nope'] } })).toContain('“nope”');
    expect(refusal({ settings: { vmap: { nope: 0 } } })).toContain('“nope”');
  });

  it('gives the arguments of its function, each and no other', () => {
    const given = (...names: string[]) => names.map((name) => inputOf(name, 1));
    const takes = [{ name: 'x' }, { name: 'k', default: true }];
    expect(() => fitsParameters(given('k', 'x'), takes)).not.toThrow();
    expect(() => fitsParameters(given('x', 'k', 'z'), takes)).toThrow('“z”, which its function does not take');
    expect(() => fitsParameters(given('k'), takes)).toThrow('does not give “x”');
    const left = (name: string) => ({ ...inputOf(name, 1, true), kind: 'default' as const });
    expect(() => fitsParameters([...given('x'), left('k')], takes)).not.toThrow();
    expect(() => fitsParameters([left('x'), ...given('k')], takes)).toThrow('its function has none');
  });

  it('asks for nothing that its reader neither sees nor can remove', () => {
    const server = { devices: [{ id: 'cpu:0' }], fields: (verb: string) => (verb === 'minimize' ? [{ name: 'tol' }] : []), isSolver: (verb: string) => verb === 'minimize' };
    const of = (patch: Partial<typeof DEFAULTS>) => () => fitsServer({ ...DEFAULTS, ...patch }, server);
    expect(of({ device: 'cpu:0' })).not.toThrow();
    expect(of({ device: 'tpu:9' })).toThrow('“tpu:9”');
    expect(of({ verb: 'minimize', fields: { tol: 1 } })).not.toThrow();
    expect(of({ verb: 'minimize', fields: { epochs: 1 } })).toThrow('“epochs”');
    expect(of({ verb: 'grad', fields: { holomorphic: true } })).toThrow('“holomorphic”');
  });
});
