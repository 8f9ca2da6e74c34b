import { expect, it } from 'vitest';
import { inputOf } from '../inputs/input';
import { isLarge } from './extent';
import { DEFAULTS } from './request';

const thousand = [inputOf('x', Array.from({ length: 1000 }, () => 1))];
const output = (...shape: number[]) => ({ dtype: 'float64', shape });
const large = (verb: string, shape: number[], patch = {}) => isLarge({ ...DEFAULTS, verb, ...patch }, thousand, output(...shape));

it('keeps results at the server that the page would choke on', () => {
  expect(large('evaluate', [3000, 3000])).toBe(true);
  expect(large('evaluate', [100_000])).toBe(false);
  expect(large('jacobian', [1000])).toBe(true);
  expect(large('jacobian', [1000], { sparse: true })).toBe(false);
  expect(large('hessian', [])).toBe(true);
  expect(large('grad', [])).toBe(false);
  expect(large('ode', [1000], { fields: { ts: Array.from({ length: 1001 }, (_, i) => i) } })).toBe(true);
  expect(large('ode', [1000], { fields: { ts: [0, 1] } })).toBe(false);
  expect(isLarge({ ...DEFAULTS, verb: 'evaluate' }, [inputOf('x', 1)], { a: output(1e6), b: [output(2)] })).toBe(true);
});

it('keeps those of large uploads there too', () => {
  const reference = { id: 'arr_0', label: 'm.npz', dtype: 'float64', shape: [100, 1000], layout: 'dense' };
  const given = { ...inputOf('M', 1), kind: 'reference' as const, reference };
  expect(isLarge({ ...DEFAULTS, verb: 'grad' }, [given], output())).toBe(true);
  expect(isLarge({ ...DEFAULTS, verb: 'grad' }, [{ ...given, reference: { ...reference, nse: 5 } }], output())).toBe(false);
});
