import { describe, expect, it } from 'vitest';
import { evenly, parseNumbers, writeNumbers } from './ranges';

describe('lists of numbers', () => {
  it('are read from a range and written as one', () => {
    expect(parseNumbers('0:1:5')).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(parseNumbers('[1, 2.5]')).toEqual([1, 2.5]);
    expect(parseNumbers('{"equality": "h"}')).toEqual({ equality: 'h' });
    for (const text of ['0:10:201', '-1:0.3:7', '[0,1,5]', '[0.5,1]']) expect(writeNumbers(parseNumbers(text))).toBe(text);
    expect(writeNumbers(undefined)).toBe('');
    expect(evenly([0, 1, 2.1, 3])).toBeNull();
  });

  it('refuse what is no range', () => {
    for (const text of ['1:2', '0:1:1', '0:1:2.5', 'a:1:3', '0:1:1e9', '::']) expect(() => parseNumbers(text)).toThrow('start:end:count');
  });
});
