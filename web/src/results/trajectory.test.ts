import { expect, it } from 'vitest';
import { read } from '../api/wire';
import { named } from './named';
import { trajectoryOf } from './trajectory';

const ts = [0, 1, 2];

it('draws states that are vectors, and says how many components it leaves out', () => {
  expect(trajectoryOf({ ts, ys: [1, 2, 3] })).toMatchObject({ of: 1, components: [[1, 2, 3]] });
  const wide = trajectoryOf({ ts, ys: ts.map((t) => [t, 1, 2, 3, 4]) })!;
  expect([wide.of, wide.components.length, wide.components[0]]).toEqual([5, 3, ts]);
});

it('leaves what it cannot draw to be shown as values', () => {
  const results = [{ ts, ys: [[[1]], [[2]], [[3]]] }, { ts: [0, 1], ys: [1, 2] }, { ts, ys: { a: [1, 2, 3] } }];
  for (const result of results) {
    expect(trajectoryOf(result)).toBeNull();
    expect(named('ode', read(result), {}).map(({ label }) => label)).toEqual(['ts', 'ys']);
  }
  expect(named('ode', read({ ts, ys: [1, 2, 3], y1: 3 }), {}).map(({ label }) => label)).toContain('ys');
});
