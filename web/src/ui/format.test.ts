import { describe, expect, it } from 'vitest';
import { bytes, count, cut, duration, full, short } from './format';

describe('format', () => {
  it('is short, and full where asked', () => {
    expect(short(5.010007503399555)).toBe('5.01');
    expect(short(-0.00001234)).toBe('−1.234e-5');
    expect(short(NaN)).toBe('NaN');
    expect(full(-0)).toBe('−0');
    expect(full(5.010007503399555)).toBe('5.010007503399555');
    expect(count(12345)).toBe('12.3 k');
    expect(bytes(2048)).toBe('2 KiB');
    expect([duration(0.25), duration(12.345), duration(2500)]).toEqual(['250 µs', '12.3 ms', '2.5 s']);
  });

  it('keeps what stands before the point', () => {
    expect(short(123456.789, 3)).toBe('123457');
    expect([short(999.9, 3), short(0.0123456, 3)]).toEqual(['1000', '0.0123']);
  });

  it('cuts, and says so, where digits follow', () => {
    const cases: [number, number, string][] = [
      [0.99999999999, 8, '0.99999999…'], [123456.789, 3, '123456…'], [2 / 3, 3, '0.666…'], [-0.00123456, 3, '−0.00123…'], [0.5, 3, '0.5'],
      [1234567.5, 3, '1.23…e6'], [-1.5e-9, 3, '−1.5e−9'], [1e300, 3, '1e300'], [100000, 2, '100000'], [12.5, 2, '12…'], [0, 3, '0'], [-0, 3, '−0'], [NaN, 3, 'NaN'], [-Infinity, 3, '−∞'],
    ];
    for (const [value, digits, text] of cases) expect(cut(value, digits), text).toBe(text);
  });
});
