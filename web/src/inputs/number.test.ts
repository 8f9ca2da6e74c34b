import { describe, expect, it } from 'vitest';
import { parseNumber, whyNoNumber } from './number';

describe('numbers as people write them', () => {
  it('are read, the words for what is not finite included', () => {
    const read = ['3', ' -0.5 ', '+1e-3', '.5', '2.', '−4', 'NaN', 'inf', '-Infinity', '+inf', '−∞'].map(parseNumber);
    expect(read).toEqual([3, -0.5, 1e-3, 0.5, 2, -4, NaN, Infinity, -Infinity, Infinity, -Infinity]);
  });

  it('are nothing else, whatever JavaScript makes of it', () => {
    for (const text of ['', ' ', 'abc', '1,5', '１２', '0x10', '1_000', '1e400', '--1', '1 2', 'constructor', '__proto__']) {
      expect(parseNumber(text), text).toBeNull();
      expect(whyNoNumber(text), text).not.toBe('');
    }
  });

  it('say what is wrong with them', () => {
    expect(whyNoNumber('1')).toBe('');
    expect(whyNoNumber('')).toContain('missing');
    expect(whyNoNumber('1,5')).toContain('write 1.5');
    expect(whyNoNumber('-1e999')).toContain('beyond');
    expect(whyNoNumber('x'.repeat(500)).length).toBeLessThan(60);
  });
});
