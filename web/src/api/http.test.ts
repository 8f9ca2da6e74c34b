import { expect, it } from 'vitest';
import { parseTiming } from './http';

it('reads Server-Timing', () => {
  expect(parseTiming('queue;dur=0.1, compile;desc="XLA";dur=80.25')).toEqual([
    { name: 'queue', ms: 0.1 }, { name: 'compile', ms: 80.25 },
  ]);
  expect(parseTiming(null)).toEqual([]);
});
