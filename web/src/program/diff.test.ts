import { describe, expect, it } from 'vitest';
import { diffLines } from './diff';

describe('diffLines', () => {
  const marks = (a: string, b: string) => diffLines([...a], [...b]).map(({ mark, text }) => mark.trim() + text).join(' ');

  it('marks what was removed and added', () => {
    expect(marks('abcabba', 'cbabac').replace(/[-+]\w ?/g, '').trim()).toHaveLength('b a b a'.length);
    expect(marks('abc', 'abc')).toBe('a b c');
    expect(marks('abc', 'axc')).toBe('a -b +x c');
    expect(marks('', 'ab')).toBe('+a +b');
    expect(marks('ab', '')).toBe('-a -b');
  });

  it('rebuilds both texts from any pair', () => {
    let seed = 7;
    const next = (n: number) => (seed = (seed * 16807) % 2147483647) % n;
    for (let round = 0; round < 60; round++) {
      const [a, b] = [0, 1].map(() => Array.from({ length: next(12) }, () => 'abc'[next(3)] as string));
      const lines = diffLines(a!, b!);
      expect(lines.filter(({ mark }) => mark !== '+').map(({ text }) => text)).toEqual(a);
      expect(lines.filter(({ mark }) => mark !== '-').map(({ text }) => text)).toEqual(b);
    }
  });
});
