import { describe, expect, it } from 'vitest';
import { bytes, count, duration, full, short } from './format';

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
});
