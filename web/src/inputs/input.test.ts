import { describe, expect, it } from 'vitest';
import { emptyInput, guessKind, inForm, inputOf, outline, rangeFor, reconcile, UNREADABLE, wireOf } from './input';

const inputs = [inputOf('x', 2), inputOf('y', [1, 2])];

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

it('gives a slider a range that holds the value', () => {
  for (const value of [0, 3, -7, 1234, -1e-300, 1e308, -1.7e308, 5e-324]) {
    const [low, high] = rangeFor(value);
    expect(low <= value && value <= high && Number.isFinite(low) && Number.isFinite(high), String(value)).toBe(true);
  }
});

it('tells inputs of another shape apart, not of another value', () => {
  expect(outline(inputOf('x', [1, 2]))).toBe(outline(inputOf('x', [3, 4])));
  expect(outline(inputOf('x', [1, 2]))).not.toBe(outline(inputOf('x', [1, 2, 3])));
  expect(outline(inputOf('x', 2))).not.toBe(outline(inputOf('x', [2])));
  expect(outline({ ...inputOf('x', 1), kind: 'tree', tree: '[1,' })).toBe(UNREADABLE);
});

describe('another form', () => {
  it('keeps the value where it can, and brings back none that was left', () => {
    const vector = inForm(inputOf('x', [4, 5]), 'tree');
    expect(vector.tree).toBe('[4,5]');
    expect(inForm({ ...vector, tree: '[9, 9, 9]' }, 'vector').vector).toEqual([9, 9, 9]);
    expect(inForm(inputOf('x', [4, 5]), 'matrix').matrix).toEqual([[4, 5]]);
    expect(inForm(inputOf('x', [[4], [5]]), 'vector').vector).toEqual([4, 5]);
    expect(inForm(inForm(inputOf('x', [4, 5]), 'scalar'), 'vector').vector).toEqual(emptyInput('x').vector);
    expect(inForm({ ...vector, tree: '[4,' }, 'scalar')).toMatchObject({ kind: 'scalar', scalar: 1 });
    expect(inForm(inputOf('x', 3), 'scalar').scalar).toBe(3);
  });
});
