import { expect, it } from 'vitest';
import { randomMatrix, randomVector } from './random';

it('fills inputs alike for the same seed', () => {
  expect(randomVector(5, 'normal', 3)).toEqual(randomVector(5, 'normal', 3));
  expect(randomVector(3, 'range', 1)).toEqual([0, 0.5, 1]);
  const m = randomMatrix(4, 4, 'symmetric', 2);
  expect(m[1]?.[3]).toBe(m[3]?.[1]);
  const many = randomVector(4000, 'normal', 9);
  expect(many.reduce((a, b) => a + b) / 4000).toBeCloseTo(0, 1);
});
