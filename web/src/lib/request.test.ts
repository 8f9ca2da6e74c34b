import { describe, expect, it } from 'vitest';
import { emptyInput, guessKind, inputOf, reconcile, wireOf } from './inputs';
import { bodyOf, DEFAULTS, differentiated, filled, onesLike } from './request';

const settings = { ...DEFAULTS, source: 'x * y', diagnose: false };
const inputs = [inputOf('x', 2), inputOf('y', [1, 2])];

describe('bodyOf', () => {
  it('leaves defaults out', () => {
    expect(bodyOf(settings, inputs)).toEqual({ function: 'x * y', args: [2, [1, 2]] });
  });

  it('names arguments when one is left to its default', () => {
    const last = { ...emptyInput('k', true) };
    expect(bodyOf(settings, [inputs[0]!, last]).args).toEqual({ x: 2 });
  });

  it('sends wrt as one name or a list, and only where the verb takes it', () => {
    expect(bodyOf({ ...settings, wrt: ['y'] }, inputs).wrt).toBe('y');
    expect(bodyOf({ ...settings, wrt: ['x', 'y'] }, inputs).wrt).toEqual(['x', 'y']);
    expect(bodyOf({ ...settings, verb: 'evaluate', wrt: ['y'] }, inputs).wrt).toBeUndefined();
  });

  it('makes directions of ones in the shape of what they belong to', () => {
    expect(bodyOf({ ...settings, verb: 'jvp' }, inputs).tangents).toEqual([1, [1, 1]]);
    expect(bodyOf({ ...settings, verb: 'hvp', wrt: ['y'] }, inputs).vectors).toEqual([1, 1]);
    const output = { dtype: 'float64', shape: [2] };
    expect(bodyOf({ ...settings, verb: 'vjp' }, inputs, output).cotangents).toEqual([1, 1]);
  });

  it('maps the axes that were chosen', () => {
    expect(bodyOf({ ...settings, vmap: { y: 0 } }, inputs).vmap).toEqual({ in_axes: [null, 0] });
  });
});

it('differentiates the first parameter by default, all of them for products', () => {
  expect(differentiated(settings, ['a', 'b'])).toEqual(['a']);
  expect(differentiated({ ...settings, verb: 'vjp' }, ['a', 'b'])).toEqual(['a', 'b']);
});

it('fills shapes', () => {
  expect(filled([2, 1], 0)).toEqual([[0], [0]]);
  expect(onesLike({ w: [[3]], b: 'NaN' })).toEqual({ w: [[1]], b: 1 });
});

describe('inputs', () => {
  it('are guessed from how the source uses them', () => {
    const kinds = (source: string, ...names: string[]) => names.map((name) => guessKind(source, name));
    expect(kinds('A @ x + b', 'A', 'x', 'b')).toEqual(['matrix', 'vector', 'scalar']);
    expect(kinds('jnp.sum(v**2) * M.T[0, 1] + p[0]', 'v', 'M', 'p')).toEqual(['vector', 'matrix', 'vector']);
    expect(kinds('x**2 + sin(y)', 'x', 'y')).toEqual(['scalar', 'scalar']);
  });

  it('survive the wire', () => {
    for (const value of [3, 'NaN', [1, 2], [[1, 2], [3, 4]], { a: [1] }, { ref: 'arr_0' }]) {
      expect(wireOf(inputOf('x', value))).toEqual(value);
    }
  });

  it('keep their values when parameters move, are renamed, added or dropped', () => {
    const moved = reconcile(inputs, [{ name: 'y' }, { name: 'x' }]);
    expect(moved.map(wireOf)).toEqual([[1, 2], 2]);
    const renamed = reconcile(inputs, [{ name: 'x' }, { name: 'z' }]);
    expect(renamed.map(wireOf)).toEqual([2, [1, 2]]);
    expect(reconcile(inputs, [{ name: 'y' }]).map(wireOf)).toEqual([[1, 2]]);
    expect(reconcile(inputs, [{ name: 'x' }, { name: 'y' }, { name: 'k', default: true }])[2]?.kind).toBe('default');
  });
});
