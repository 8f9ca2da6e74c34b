import { describe, expect, it } from 'vitest';
import { DEFAULTS } from '../session/request';
import type { Course, Run } from '../session/calls.svelte';
import { montage, pattern } from './thumbnails';
import { pathOf, wayOf } from './ways';

const body = {};
const course = (told: object[]) => ({ run: 'r', verb: 'minimize', body, source: 's', status: 'running', told }) as Course;
const run = (trace: object) => ({ verb: 'minimize', body, source: 's', answer: { body: { result: { trace } } } }) as unknown as Run;
const told = [
  { phase: 'compiling' },
  { iteration: 1, value: 4, x: [1, 2] },
  { iteration: 3, value: 'NaN', x: [0.5, 'NaN'] },
  { iteration: 4, value: 1, x: [0, 1] },
];
const trace = { iteration: [0, 1, 2, 3, 4, 4, 4], value: [9, 4, 3, 2, 1, 1, 1], x: [[3, 3], [1, 2], [0.8, 2], [0.5, 1], [0, 1], [0, 1], [0, 1]] };

describe('the way of a solver', () => {
  it('is what a run tells while it goes on', () => {
    const way = wayOf(course(told), null);
    expect(way.falling).toBe('value');
    expect(way.moments.map(({ iteration }) => iteration)).toEqual([1, 3, 4]);
  });

  it('is whole at the end, without the repeats', () => {
    expect(wayOf(course(told), run(trace)).moments.map(({ falling }) => falling)).toEqual([9, 4, 3, 2, 1]);
    // Of another request than the one that goes on, it does not count.
    expect(wayOf({ ...course(told), body: { other: 1 } }, run(trace)).moments).toHaveLength(3);
  });

  it('is the loss of every epoch of a training', () => {
    const fit = { verb: 'fit', body, source: 's', answer: { body: { result: { history: { loss: [3, 2, 1] }, value: 1 } } } } as unknown as Run;
    const way = wayOf(course([{ iteration: 1, value: 3 }, { iteration: 3, value: 1 }]), fit);
    expect([way.falling, way.moments.map(({ iteration, falling }) => [iteration, falling])]).toEqual(['loss', [[1, 3], [2, 2], [3, 1]]]);
  });

  it('lies over a plot whose axes are the unknowns', () => {
    const way = wayOf(course(told), null);
    const settings = { ...DEFAULTS, verb: 'minimize' };
    expect(pathOf({ kind: 'vector', name: 'p', names: ['p[0]', 'p[1]'] }, settings, way)).toEqual([[1, 2], [0, 1]]);
    const plane = { kind: 'scalars' as const, names: ['x', 'y'] as [string, string] };
    expect(pathOf(plane, { ...settings, wrt: ['y', 'x'] }, way)).toEqual([[2, 1], [1, 0]]);
    expect(pathOf(plane, settings, way)).toEqual([]);
  });
});

describe('small pictures', () => {
  it('count entries a cell', () => {
    const value = { kind: 'sparse' as const, layout: 'coo', shape: [256, 2], rows: [0, 1, 255], columns: [0, 0, 1], values: [5, 6, 7] };
    const { rows, columns, data } = pattern(value)!;
    expect([rows, columns, data[0], data[255]]).toEqual([128, 2, 2, 1]);
  });

  it('lay images side by side', () => {
    const data = Array.from({ length: 12 * 4 }, (_, i) => i);
    const { rows, columns } = montage({ kind: 'tensor', dtype: 'float', shape: [12, 2, 2], data })!;
    expect([rows, columns]).toEqual([5, 29]);
  });
});
