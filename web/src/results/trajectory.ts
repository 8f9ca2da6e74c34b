// A solution over time as curves, where it is one that curves can show.

import type { Json } from '../api/json';
import { read } from '../api/wire';

export interface Trajectory {
  t: ArrayLike<number>;
  /** The first few components, and how many there are. */
  components: number[][];
  of: number;
}

const SHOWN = 3;

/** The curves of a result of `ode`; null where its states are no vectors, or its times too few. */
export function trajectoryOf(result: Json): Trajectory | null {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
  const [ts, ys] = [read(result.ts ?? null), read(result.ys ?? null)];
  if (ts.kind !== 'tensor' || ys.kind !== 'tensor' || ys.shape[0] !== ts.data.length || ts.data.length < 3) return null;
  const of = ys.shape.length === 1 ? 1 : (ys.shape[1] ?? 0);
  if (ys.shape.length > 2 || of < 1) return null;
  const component = (j: number) => Array.from({ length: ts.data.length }, (_, i) => ys.data[i * of + j] as number);
  return { t: ts.data, of, components: Array.from({ length: Math.min(of, SHOWN) }, (_, j) => component(j)) };
}
