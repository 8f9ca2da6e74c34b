import { describe, expect, it } from 'vitest';
import { emptyInput, inputOf } from '../inputs/input';
import { axesOf, bodyOf, carried, DEFAULTS, differentiated, filled, onesLike } from './request';

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
  expect(() => onesLike({ dtype: 'float64', shape: [1e5, 1e5] })).toThrow('too many');
  expect(onesLike({ w: [[3]], b: 'NaN' })).toEqual({ w: [[1]], b: 1 });
});

describe('a direction that was typed', () => {
  const typed = (verb: string, direction: string) => ({ ...settings, verb, direction });
  it('stays with its names when they are reordered, left out, renamed or new', () => {
    const jvp = typed('jvp', '[3, [1, 10]]');
    expect(carried(jvp, ['x', 'y'], ['y', 'x'], inputs)).toBe('[[1,10],3]');
    expect(carried(jvp, ['x', 'y'], ['y'], inputs)).toBe('[[1,10]]');
    expect(carried(jvp, ['x', 'y'], ['y', 'z'], [inputs[1]!, inputOf('z', [[5]])])).toBe('[[1,10],[[1]]]');
    expect(carried(jvp, ['x', 'y'], ['w', 'y'], inputs, (name) => (name === 'w' ? 'x' : name))).toBe('[3, [1, 10]]');
    expect(carried(jvp, ['x', 'y'], [], [])).toBe('');
  });

  it('has no list around the vector of one parameter', () => {
    expect(carried(typed('hvp', '7'), ['x'], ['x', 'y'], inputs)).toBe('[7,[1,1]]');
    expect(carried(typed('hvp', '[7, [1, 2]]'), ['x', 'y'], ['y'], inputs)).toBe('[1,2]');
    expect(carried(typed('hvp', '7'), ['x'], ['y'], inputs)).toBe('[1,1]');
  });

  it('is left alone where it belongs to the result, or cannot be read', () => {
    expect(carried(typed('vjp', '[1, 10]'), ['x', 'y'], ['y'], inputs)).toBe('[1, 10]');
    expect(carried(typed('jvp', '[1,'), ['x', 'y'], ['y'], inputs)).toBe('[1,');
  });
});

it('maps at first what has an axis', () => {
  const tree = { ...inputOf('t', 1), kind: 'tree' as const, tree: '{"w": [1, 2]}' };
  expect(axesOf([...inputs, inputOf('M', [[1]]), tree])).toEqual({ y: 0, M: 0, t: 0 });
  const none = [inputOf('x', 1), { ...tree, tree: '[1,' }, { ...tree, tree: '[1, [2]]' }, emptyInput('k', true)];
  expect(axesOf(none)).toEqual({});
});
