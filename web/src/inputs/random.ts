// Seeded random numbers for inputs: the same seed gives the same values, on every machine.

export type Distribution = 'uniform' | 'normal' | 'symmetric' | 'identity' | 'range';

/** Mulberry32: 32 bits of state, good enough to fill an input box. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4;

function sample(distribution: Distribution, next: () => number): number {
  if (distribution === 'uniform') return rounded(next());
  // Box and Muller's transform; 1 - u keeps the logarithm finite.
  return rounded(Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()));
}

/** A vector of n samples; `range` counts from 0 to 1. */
export function randomVector(n: number, distribution: Distribution, seed: number): number[] {
  if (distribution === 'range') return Array.from({ length: n }, (_, i) => rounded(i / Math.max(n - 1, 1)));
  const next = generator(seed);
  return Array.from({ length: n }, () => sample(distribution, next));
}

/** A rows × columns matrix of samples. */
export function randomMatrix(
  rows: number,
  columns: number,
  distribution: Distribution,
  seed: number,
): number[][] {
  const next = generator(seed);
  const cell = (i: number, j: number): number => {
    if (distribution === 'identity') return i === j ? 1 : 0;
    if (distribution === 'range') return rounded((i * columns + j) / Math.max(rows * columns - 1, 1));
    return sample(distribution, next);
  };
  const matrix = Array.from({ length: rows }, (_, i) =>
    Array.from({ length: columns }, (_, j) => cell(i, j)),
  );
  if (distribution === 'symmetric') {
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < Math.min(i, columns); j++) {
        const above = matrix[j]?.[i];
        if (above !== undefined) (matrix[i] as number[])[j] = above;
      }
  }
  return matrix;
}
