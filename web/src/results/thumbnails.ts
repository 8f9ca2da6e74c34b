// Small pictures of large values: where a sparse matrix has entries, images laid side by side.

import type { PatternInfo } from '../api/answers';
import { read, type Sparse, type Tensor } from '../api/wire';

export interface Picture {
  rows: number;
  columns: number;
  /** From 0, the paper, to the largest, row-major. */
  data: ArrayLike<number>;
}

const SIDE = 128;
const ACROSS = 10;

/** Counts a bin, as the server binned them. */
export function binned(info: PatternInfo): Picture | null {
  const counts = read(info.counts ?? []);
  if (counts.kind !== 'tensor' || counts.shape.length !== 2) return null;
  const [rows, columns] = counts.shape;
  return rows && columns ? { rows, columns, data: counts.data } : null;
}

/** Entries a cell, on a grid of at most 128 by 128. */
export function pattern(value: Sparse): Picture | null {
  const [m, n] = [value.shape.at(-2) ?? 0, value.shape.at(-1) ?? 0];
  if (!m || !n) return null;
  const [rows, columns] = [Math.min(m, SIDE), Math.min(n, SIDE)];
  const data = new Float64Array(rows * columns);
  for (let k = 0; k < value.values.length; k++) {
    const i = Math.floor((Number(value.rows[k]) * rows) / m);
    const j = Math.floor((Number(value.columns[k]) * columns) / n);
    data[i * columns + j]! += 1;
  }
  return { rows, columns, data };
}

/** Matrices of a stack as one picture, ten in a row, a blank line between them. */
export function montage({ shape, data }: Tensor): Picture | null {
  const [h, w] = [shape.at(-2) ?? 0, shape.at(-1) ?? 0];
  if (shape.length < 2 || h < 2 || w < 2 || h > SIDE || w > SIDE) return null;
  const count = Math.min(Math.floor(data.length / (h * w)), Math.max(1, Math.floor(SIDE / (w + 1))) * 4, 4 * ACROSS);
  const across = Math.min(count, ACROSS, Math.max(1, Math.floor(SIDE / (w + 1))));
  const [rows, columns] = [Math.ceil(count / across) * (h + 1) - 1, across * (w + 1) - 1];
  const out = new Float64Array(rows * columns);
  for (let k = 0; k < count; k++) {
    const [top, left] = [Math.floor(k / across) * (h + 1), (k % across) * (w + 1)];
    for (let i = 0; i < h; i++) {
      for (let j = 0; j < w; j++) out[(top + i) * columns + left + j] = Math.abs(Number(data[(k * h + i) * w + j]));
    }
  }
  return { rows, columns, data: out };
}
