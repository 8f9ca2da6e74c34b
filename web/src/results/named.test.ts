import { expect, it } from 'vitest';
import { read } from '../api/wire';
import { named } from './named';

it('names the parts of an answer', () => {
  const labels = (verb: string, result: Parameters<typeof read>[0], body = {}) =>
    named(verb, read(result), body).map(({ label }) => label);
  expect(labels('grad', [1, 2], { wrt: ['x', 'y'] })).toEqual(['∂f/∂x', '∂f/∂y']);
  expect(labels('grad', [1, 2])).toEqual(['∇f']);
  expect(labels('value_and_grad', { value: 1, grad: [1, [2, 3]] }, { wrt: ['x', 'y'] })).toEqual(['f', '∂f/∂x', '∂f/∂y']);
  expect(labels('jvp', { value: [1], tangent: [2] })).toEqual(['f', 'J·v']);
});
