import { describe, expect, it } from 'vitest';
import { inputOf } from '../inputs/input';
import { arrowsOf, contourOf, curveOf } from './plans';

const scalar = { dtype: 'float64', shape: [] };

describe('plans', () => {
  it('offer curves and contours only where they make sense', () => {
    const [x, y, v] = [inputOf('x', 1), inputOf('y', 2), inputOf('v', [1, 2])];
    expect(curveOf([x, v], scalar)).toEqual(['x']);
    expect(curveOf([x], { dtype: 'float64', shape: [3] })).toEqual([]);
    for (const dtype of ['bool', 'int64', 'complex128']) expect(curveOf([x], { dtype, shape: [] })).toEqual([]);
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
