// Which lines of two texts differ: Myers's greedy algorithm, O((n + m) d), on whole lines.

export interface DiffLine {
  mark: ' ' | '-' | '+';
  text: string;
}

/** Beyond this many edits the texts are shown as wholly different. */
const EDIT_LIMIT = 2000;

/** The lines of both texts, each marked as common, removed or added. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const [n, m] = [before.length, after.length];
  const limit = Math.min(n + m, EDIT_LIMIT);
  const trace: Int32Array[] = [];
  const reach = new Int32Array(2 * limit + 2);
  const at = (k: number) => k + limit;
  for (let d = 0; d <= limit; d++) {
    trace.push(reach.slice());
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reach[at(k - 1)] ?? 0) < (reach[at(k + 1)] ?? 0));
      let x = down ? (reach[at(k + 1)] ?? 0) : (reach[at(k - 1)] ?? 0) + 1;
      while (x < n && x - k < m && before[x] === after[x - k]) x++;
      reach[at(k)] = x;
      if (x >= n && x - k >= m) return walkBack(trace, before, after, limit);
    }
  }
  return [
    ...before.map((text): DiffLine => ({ mark: '-', text })),
    ...after.map((text): DiffLine => ({ mark: '+', text })),
  ];
}

function walkBack(
  trace: Int32Array[],
  before: readonly string[],
  after: readonly string[],
  limit: number,
): DiffLine[] {
  const out: DiffLine[] = [];
  let [x, y] = [before.length, after.length];
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d] as Int32Array;
    const get = (k: number) => reach[k + limit] ?? 0;
    const k = x - y;
    const down = k === -d || (k !== d && get(k - 1) < get(k + 1));
    const fromX = d === 0 ? 0 : down ? get(k + 1) : get(k - 1);
    const fromY = d === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    while (x > fromX && y > fromY) {
      x--;
      y--;
      out.push({ mark: ' ', text: before[x] as string });
    }
    if (d === 0) break;
    if (down) out.push({ mark: '+', text: after[--y] as string });
    else out.push({ mark: '-', text: before[--x] as string });
  }
  return out.reverse();
}
