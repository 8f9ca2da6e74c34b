import { describe, expect, it } from 'vitest';
import { parseJson, whyNoJson } from './json';

describe('parseJson', () => {
  it('reads values as they are written', () => {
    expect(parseJson('{"a": [1, "]]]"], "b": -1.5e300}')).toEqual({ a: [1, ']]]'], b: -1.5e300 });
    expect(parseJson('[12345678901234567890]')).toEqual([12345678901234567890]);
    expect(parseJson('{"dtype": "int64", "shape": [1], "data": [9007199254740992]}')).toBeTruthy();
  });

  it('says what is wrong, with numbers that would be changed too', () => {
    expect(whyNoJson('[1,')).toContain('Not valid JSON');
    expect(whyNoJson('[1e400]')).toContain('beyond what 64 bits hold');
    expect(whyNoJson('{"dtype": "int64", "shape": [1], "data": [9007199254740993]}')).toContain('9007199254740993 exactly');
    for (const depth of [65, 400_000]) expect(whyNoJson('['.repeat(depth) + ']'.repeat(depth))).toContain('deeper than 64');
  });
});
