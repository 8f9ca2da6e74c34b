// Level lines of a sampled function by marching squares, and levels on round numbers.

export interface Field {
  columns: number;
  rows: number;
  /** Row-major, first row at the lowest y. */
  data: ArrayLike<number>;
}

export type Segment = [x1: number, y1: number, x2: number, y2: number];

/** Segments of one level line, in grid coordinates. Cells with a non-finite corner are skipped. */
export function levelLine(field: Field, level: number): Segment[] {
  const { columns, rows, data } = field;
  const out: Segment[] = [];
  for (let j = 0; j + 1 < rows; j++) {
    for (let i = 0; i + 1 < columns; i++) {
      const a = data[j * columns + i] as number;
      const b = data[j * columns + i + 1] as number;
      const c = data[(j + 1) * columns + i + 1] as number;
      const d = data[(j + 1) * columns + i] as number;
      if (!Number.isFinite(a + b + c + d)) continue;
      const cut: [number, number][] = [];
      const cross = (p: number, q: number) => (p < level) !== (q < level);
      if (cross(a, b)) cut.push([i + (level - a) / (b - a), j]);
      if (cross(b, c)) cut.push([i + 1, j + (level - b) / (c - b)]);
      if (cross(c, d)) cut.push([i + (level - d) / (c - d), j + 1]);
      if (cross(d, a)) cut.push([i, j + (level - a) / (d - a)]);
      for (let k = 0; k + 1 < cut.length; k += 2) {
        const [from, to] = [cut[k] as [number, number], cut[k + 1] as [number, number]];
        out.push([...from, ...to]);
      }
    }
  }
  return out;
}

/** Levels at quantiles of the finite values: they follow the function where it is steep too. */
export function quantileLevels(data: ArrayLike<number>, count: number): number[] {
  const finite = Array.from(data).filter(Number.isFinite).sort((a, b) => a - b);
  if (finite.length < 2) return [];
  const levels = Array.from({ length: count }, (_, i) => {
    const at = ((i + 0.5) / count) * (finite.length - 1);
    return finite[Math.floor(at)] as number;
  });
  return [...new Set(levels)];
}
