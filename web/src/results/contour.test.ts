import { describe, expect, it } from 'vitest';
import { levelLine, quantileLevels } from './contour';

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
