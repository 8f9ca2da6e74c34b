// Small drawings of digits, made here: strokes on a grid, shifted a little, with noise.

import { generator } from '../inputs/random';

export const SIDE = 8;

/** Five by seven, as on an old terminal. */
const GLYPHS: string[][] = [
  ['.###.', '#...#', '#...#', '#...#', '#...#', '#...#', '.###.'],
  ['..#..', '.##..', '..#..', '..#..', '..#..', '..#..', '.###.'],
  ['.###.', '#...#', '....#', '..##.', '.#...', '#....', '#####'],
  ['####.', '....#', '....#', '.###.', '....#', '....#', '####.'],
];

/** `count` images of SIDE by SIDE and the digit on each; grey values from 0 to 1. */
export function digits(count: number, noise: number, seed: number): { images: number[][][]; labels: number[] } {
  const next = generator(seed);
  const labels = Array.from({ length: count }, (_, i) => i % GLYPHS.length);
  const images = labels.map((label) => {
    const [down, across] = [Math.floor(next() * 2), Math.floor(next() * 4)];
    const grey = (i: number, j: number) => (GLYPHS[label]![i - down]?.[j - across] === '#' ? 0.9 : 0);
    const cell = (i: number, j: number) => Math.min(Math.max(grey(i, j) + noise * (2 * next() - 1), 0), 1);
    return Array.from({ length: SIDE }, (_, i) => Array.from({ length: SIDE }, (__, j) => Math.round(cell(i, j) * 100) / 100));
  });
  return { images, labels };
}
