import { describe, expect, it } from 'vitest';
import { levelLine, quantileLevels } from './contour';
import { arrowsOf, contourOf, curveOf } from '../results/plans';
import { named } from '../results/named';
import { inputOf } from './inputs';
import { randomMatrix, randomVector } from './random';
import { read } from './wire';

const scalar = { dtype: 'float64', shape: [] };

describe('contours', () => {
  it('of x² + y² are circles', () => {
    const n = 101;
    const at = (i: number) => -2 + (4 * i) / (n - 1);
    const data = Array.from({ length: n * n }, (_, k) => at(k % n) ** 2 + at(Math.floor(k / n)) ** 2);
    const segments = levelLine({ columns: n, rows: n, data }, 1);
    let length = 0;
    for (const [x1, y1, x2, y2] of segments) {
      expect(Math.hypot(at(x1), at(y1))).toBeCloseTo(1, 2);
      length += Math.hypot(at(x2) - at(x1), at(y2) - at(y1));
    }
    expect(length).toBeCloseTo(2 * Math.PI, 2);
  });

  it('skip what is not a number', () => {
    expect(levelLine({ columns: 2, rows: 2, data: [0, 1, NaN, 1] }, 0.5)).toEqual([]);
    expect(quantileLevels([NaN, 1, 2, 3, Infinity], 2)).toHaveLength(2);
  });
});

describe('plans', () => {
  it('offer curves and contours only where they make sense', () => {
    const [x, y, v] = [inputOf('x', 1), inputOf('y', 2), inputOf('v', [1, 2])];
    expect(curveOf([x, v], scalar)).toEqual(['x']);
    expect(curveOf([x], { dtype: 'float64', shape: [3] })).toEqual([]);
    expect(contourOf([x, y], scalar)).toMatchObject({ kind: 'scalars', names: ['x', 'y'] });
    expect(contourOf([v], scalar)).toMatchObject({ kind: 'vector', name: 'v' });
    expect(contourOf([x, y, inputOf('z', 0)], scalar)).toBeNull();
  });

  it('pair the slopes of two numbers, and of a vector', () => {
    const [x, y, v] = [inputOf('x', 1), inputOf('y', 2), inputOf('v', [1, 2])];
    expect(arrowsOf([1, 2, 3, 4, 5, 6], contourOf([x, y], scalar)!)).toEqual([[1, 4], [2, 5], [3, 6]]);
    expect(arrowsOf([1, 2, 3, 4, 5, 6], contourOf([v], scalar)!)).toEqual([[1, 2], [3, 4], [5, 6]]);
  });
});

it('names the parts of an answer', () => {
  const labels = (verb: string, result: Parameters<typeof read>[0], body = {}) =>
    named(verb, read(result), body).map(({ label }) => label);
  expect(labels('grad', [1, 2], { wrt: ['x', 'y'] })).toEqual(['∂f/∂x', '∂f/∂y']);
  expect(labels('grad', [1, 2])).toEqual(['∇f']);
  expect(labels('value_and_grad', { value: 1, grad: [1, [2, 3]] }, { wrt: ['x', 'y'] })).toEqual(['f', '∂f/∂x', '∂f/∂y']);
  expect(labels('jvp', { value: [1], tangent: [2] })).toEqual(['f', 'J·v']);
});

it('fills inputs alike for the same seed', () => {
  expect(randomVector(5, 'normal', 3)).toEqual(randomVector(5, 'normal', 3));
  expect(randomVector(3, 'range', 1)).toEqual([0, 0.5, 1]);
  const m = randomMatrix(4, 4, 'symmetric', 2);
  expect(m[1]?.[3]).toBe(m[3]?.[1]);
  const many = randomVector(4000, 'normal', 9);
  expect(many.reduce((a, b) => a + b) / 4000).toBeCloseTo(0, 1);
});
